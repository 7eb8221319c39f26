package mirrorclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
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

	// HTTP makes the requests; nil means a transport that all clients of the
	// process share and that takes proxies from the environment. It is used as a
	// copy: its Transport and Jar are kept, its Timeout does not hold for
	// archives, and its CheckRedirect is asked after the client's own rules.
	HTTP *http.Client

	// Credentials finds the token of the mirror's host, by the name and port in
	// BaseURL; nil: requests are anonymous. An error of it fails the request.
	// A mirror that is addressed by an IPv6 literal has no token.
	Credentials auth.Source

	// UserAgent is sent with each request; empty means one that names tofureg.
	UserAgent string

	// Timeout is for one attempt at a document, from the connection to the last
	// byte; 0 means 10 seconds, negative means none. Archives have an idle
	// timeout instead.
	Timeout time.Duration

	// Retries is how often a request is repeated after a broken connection, 429,
	// or 5xx except 501; 0 means the default, negative means never, as in the CLI.
	Retries int

	// AllowHTTP lets URLs be http, BaseURL too, for mirrors inside a company and
	// for tests. A token is never sent over http.
	AllowHTTP bool

	// TrustAllHashes accepts for each platform the hashes that the mirror states for
	// all platforms of the version, as trust_all_hashes in the CLI configuration does:
	// the archive of another platform then passes too. Otherwise an archive must have
	// a hash that is stated for its own platform, if the mirror states any hashes.
	TrustAllHashes bool

	// PackageCredentials tells whether the token of host, the mirror's, may go to
	// pkg, the URL of an archive. Nil means never, as the protocol says: such URLs
	// are often presigned, and some servers refuse a request that is authorised
	// twice. A mirror that wants its token for archives too is a case for
	// pkg.Host == host.String().
	PackageCredentials func(host svchost.Hostname, pkg *url.URL) bool

	// VetoHost is asked before each request and each redirect with the host, or
	// host:port, that is about to be contacted; an error prevents it. Names are in
	// lower-case ASCII, addresses in their shortest form without a zone, and the
	// default port is left out. Nil means that all hosts are allowed.
	VetoHost func(host string) error

	// Logger is told of requests and repeats; nil means silence. Tokens and
	// query strings never reach it.
	Logger *slog.Logger

	once      sync.Once
	http      *httpx.Client
	base      *url.URL
	host      svchost.Hostname // of base; zero: an IPv6 literal
	baseErr   error            // why there is no base
	spellings source.Spellings[addrs.Provider]
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
		c.http = &httpx.Client{
			HTTP:        c.HTTP,
			UserAgent:   c.UserAgent,
			Timeout:     c.Timeout,
			Retries:     c.Retries,
			AllowHTTP:   c.AllowHTTP,
			VetoHost:    c.VetoHost,
			Logger:      c.Logger,
			Credentials: c.Credentials,
		}
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
