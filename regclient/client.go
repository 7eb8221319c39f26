package regclient

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

// Client is a client of all registries. The zero value is anonymous. Set the fields before the first call. A
// Client is safe for concurrent use and must not be copied. Broken downloads resume if the server permits.
//
// Concurrent calls share identical requests for documents with the same token. Results are
// not cached.
type Client struct {
	// Transport has the settings of requests, and the tokens. If nil, the zero settings are used.
	Transport *transport.Settings

	// Hosts caches the services of hosts. Clients may share it. If nil, the Client has its
	// own.
	Hosts *disco.Hosts

	// ModuleCredentials, if not nil, returns the user and password for a server of module packages, for
	// example [auth.Netrc.Lookup]. They are sent as basic credentials over https, not across a redirect to
	// another origin, and not beside a token, a password in the URL or a presigned query. Calls may be
	// concurrent.
	ModuleCredentials func(host svchost.Hostname) (user string, password auth.Password, ok bool)

	once      sync.Once
	http      *httpx.Client
	discovery *disco.Client

	versions  httpx.Shared[*provider.Versions]
	packages  httpx.Shared[*provider.Package]
	documents httpx.Shared[[]byte]

	moduleVersions  httpx.Shared[*module.Versions]
	moduleLocations httpx.Shared[*module.Location]
}

var (
	_ provider.Source = (*Client)(nil)
	_ module.Source   = (*Client)(nil)
)

// Limits of documents, in bytes.
const (
	maxDocument = 16 << 20 // with versions or a location
	maxPackage  = 1 << 20  // about one package; many are fetched at the same time
)

var errZero = errors.New("the address, the version or the platform is the zero value")

func (c *Client) setup() {
	c.once.Do(func() {
		c.http = httpx.New(c.Transport)
		c.discovery = &disco.Client{Transport: c.Transport, Hosts: c.Hosts}
	})
}

// documentRequest returns the request for the document at a path in a service of host.
func (c *Client) documentRequest(ctx context.Context, host svchost.Hostname, id disco.Service, parts ...string) (httpx.Request, error) {
	if host.IsZero() || slices.Contains(parts, "") {
		return httpx.Request{}, errZero
	}
	c.setup()
	services, err := c.discovery.Discover(ctx, host)
	if err != nil {
		return httpx.Request{}, err
	}
	base, err := services.URL(id)
	if err != nil {
		return httpx.Request{}, err
	}
	return httpx.Request{URL: httpx.Endpoint(base, parts...), Accept: httpx.JSON, TokenFor: services.TokenHost(), Limit: maxDocument}, nil
}
