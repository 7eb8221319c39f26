package mirrorclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

// Client is a client of one network mirror. Set the fields before the first call. A Client is safe for concurrent use and
// must not be copied.
//
// Concurrent calls share identical requests for documents. Results are not cached.
type Client struct {
	// BaseURL must use https, or http if Transport has AllowHTTP. It may have a port, but no user name, query or fragment.
	// A missing slash at the end is added. If it is invalid, Base and requests fail.
	BaseURL string

	Transport *transport.Settings // may be nil

	// TrustAllHashes accepts also the hashes for other platforms, like trust_all_hashes in the CLI configuration. If the
	// mirror states hashes for the platform, hashes of other schemes are ignored.
	TrustAllHashes bool

	once      sync.Once
	http      *httpx.Client
	base      *url.URL
	host      svchost.Hostname // host of base, zero for an IPv6 address
	baseErr   error            // why BaseURL is invalid
	versions  httpx.Shared[*provider.Versions]
	documents httpx.Shared[*versionDocument]
}

var _ provider.Source = (*Client)(nil)

const (
	maxDocument  = 16 << 20 // bytes of an index
	maxVersion   = 1 << 20  // bytes of the document of a version; many platforms keep it in memory
	maxRedirects = 5        // like the CLI
)

func (c *Client) setup() {
	c.once.Do(func() {
		c.http = httpx.New(c.Transport)
		c.base, c.host, c.baseErr = parseBase(c.http, c.BaseURL)
	})
}

// Base returns a copy of BaseURL with a slash at its end.
func (c *Client) Base() (*url.URL, error) {
	c.setup()
	if c.baseErr != nil {
		return nil, source.Failed("use", "a provider mirror", c.baseErr)
	}
	base := *c.base
	return &base, nil
}

// request returns the request for a document about p.
func (c *Client) request(p addrs.Provider, document string) (httpx.Request, error) {
	c.setup()
	switch {
	case c.baseErr != nil:
		return httpx.Request{}, c.baseErr
	case p.IsZero():
		return httpx.Request{}, errors.New("the provider is missing")
	case p.IsBuiltIn():
		return httpx.Request{}, fmt.Errorf("the provider is part of OpenTofu itself: %w", failure.ErrNotFound)
	}
	return httpx.Request{
		URL:       httpx.Endpoint(c.base, p.Host().String(), p.Namespace(), p.Type(), document),
		Accept:    httpx.JSON,
		TokenFor:  c.host,
		Limit:     maxDocument,
		Redirects: maxRedirects,
	}, nil
}

// parseBase checks a base URL and adds the slash at its end. Host is zero if the URL has an IPv6
// address, which cannot have a token.
func parseBase(client *httpx.Client, text string) (base *url.URL, host svchost.Hostname, err error) {
	if text == "" {
		return nil, host, errors.New("Client.BaseURL is empty")
	}
	u, err := httpx.ParseReference(text)
	if err == nil && u.Scheme == "" {
		err = errors.New("the URL does not start with https://")
	}
	if err == nil {
		err = client.CheckURL(u)
	}
	if err == nil && (u.RawQuery != "" || u.ForceQuery) {
		err = errors.New("the URL has a query")
	}
	if err == nil && !strings.HasPrefix(u.Host, "[") {
		host, err = svchost.FromWire(u.Host)
	}
	if err != nil {
		// The text does not name the URL, which may contain a password.
		return nil, host, fmt.Errorf("Client.BaseURL: %w", err)
	}
	return httpx.Endpoint(u, ""), host, nil
}

// checkMediaType refuses what the CLIs refuse, so that the operator of a mirror notices it.
func checkMediaType(resp *httpx.Response) error {
	if resp.Status != http.StatusOK {
		return errors.New("want status 200")
	}
	err := resp.CheckMediaType()
	if header := resp.Header.Get("Content-Type"); err != nil && strings.Contains(strings.ToLower(header), "html") {
		return fmt.Errorf("got a web page (%s): check the base URL and whether the mirror needs a login", weburl.Clean(header, 100))
	}
	if err != nil {
		return fmt.Errorf("%w: configure the mirror's web server to send it for .json files", err)
	}
	return nil
}

// Hints for a base URL that belongs to another kind of server.
const (
	hintRegistry  = "the document looks like an answer of a provider registry: use package regclient for a registry"
	hintDiscovery = "the document looks like a discovery document: set the base URL of the mirror"
)

// hintFor returns a hint for a provider that was not found, or "". Users often set the URL of a
// registry, which has no such documents.
func hintFor(base *url.URL, host svchost.Hostname, p addrs.Provider) string {
	switch {
	case strings.HasSuffix(base.Path, "/v1/providers/"):
		return "; the base URL looks like a provider registry: use package regclient for a registry"
	case host == p.Host() && base.Path == "/":
		return "; if " + host.Display() + " is the provider's registry, use package regclient"
	}
	return ""
}
