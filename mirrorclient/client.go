package mirrorclient

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

// Client asks one network mirror. Only BaseURL is needed. Set the fields before the
// first call; after it a Client is safe for concurrent use and must not be copied.
//
// Identical requests that are under way at the same time are made once, and each
// caller gets a result of its own. Results are not kept.
type Client struct {
	// BaseURL is the URL below which the mirror has its documents, such as
	// "https://mirror.example.com/providers/". A missing slash at the end is added.
	// It must be https and may have a port, but no user name, query or fragment.
	// Each call fails if it is not like that; see [Client.Base].
	BaseURL string

	// Transport has the settings of requests, tokens among them: the one that is sent is
	// that of the mirror's host, by the name and port in BaseURL. A mirror that is
	// addressed by an IPv6 literal has no token. Nil is the zero one.
	Transport *transport.Client

	// TrustAllHashes accepts for each platform the hashes that the mirror states for
	// all platforms of the version, as trust_all_hashes in the CLI configuration does:
	// the archive of another platform then passes too. Otherwise an archive must have
	// a hash that is stated for its own platform, if the mirror states any hashes.
	TrustAllHashes bool

	once      sync.Once
	http      *httpx.Client
	base      *url.URL
	host      svchost.Hostname // of base; zero: an IPv6 literal
	baseErr   error            // why there is no base
	versions  flight.Group[addrs.Provider, *provider.Versions]
	documents flight.Group[documentKey, *versionDocument]
}

var _ provider.Source = (*Client)(nil)

const (
	maxDocument  = 16 << 20 // bytes
	maxRedirects = 5        // of a document, as in the CLI
)

func (c *Client) setup() {
	c.once.Do(func() {
		c.http = httpx.New(c.Transport)
		c.base, c.host, c.baseErr = parseBase(c.http, c.BaseURL)
	})
}

// Base returns BaseURL as it is used, with a slash at its end. The cause of the error, a
// *provider.Error, is what each request fails with as well; programs that
// read a configuration ask for it early.
func (c *Client) Base() (*url.URL, error) {
	c.setup()
	if c.baseErr != nil {
		return nil, source.Failed("use", "a provider mirror", c.baseErr)
	}
	base := *c.base
	return &base, nil
}

// get asks the mirror for a document about p.
func (c *Client) get(ctx context.Context, p addrs.Provider, document string) (*httpx.Response, error) {
	c.setup()
	switch {
	case c.baseErr != nil:
		return nil, c.baseErr
	case p.IsZero():
		return nil, errors.New("no provider is given")
	case p.IsBuiltIn():
		return nil, fmt.Errorf("the provider is part of OpenTofu itself: %w", fault.ErrNotFound)
	}
	resp, err := c.http.Get(ctx, httpx.Request{
		URL:       httpx.Endpoint(c.base, p.Host().String(), p.Namespace(), p.Type(), document),
		Accept:    httpx.JSON,
		TokenFor:  c.host,
		Limit:     maxDocument,
		Redirects: maxRedirects,
	})
	if err != nil {
		return nil, err
	}
	if err := checkMediaType(resp); err != nil {
		return nil, resp.Unusable(err)
	}
	return resp, nil
}
