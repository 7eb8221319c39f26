package regclient

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

// Client asks registries of providers and modules. The zero value works and is
// anonymous. Set the fields before the first call; after it a Client is safe for
// concurrent use and must not be copied.
//
// Identical requests that are under way at the same time are made once, and each
// caller gets a result of its own. Results are not kept.
type Client struct {
	// Transport has the settings of requests, tokens among them. Nil is the zero one.
	Transport *transport.Client

	// Hosts is what is known about the services of hosts, which clients may share; package
	// disco tells how to state the services of a host. If nil, the Client has its own.
	Hosts *disco.Hosts

	// ModuleCredentials has users and passwords for the servers of module packages,
	// such as those of a netrc file: the method Lookup of an [auth.Netrc] fits. Nil
	// means none; nothing is read unless the caller does so. They go as basic
	// credentials to the package of a module, or the page before it, and only there:
	//
	//   - to exactly the host and port that were asked about, over https;
	//   - not along a redirect to another scheme, host or port;
	//   - not where the token of the registry goes, and not with a URL that has a
	//     password or a signature in it.
	//
	// They are no tokens: registries never get them. What is fetched by git, or by
	// other means than https, gets them neither.
	ModuleCredentials func(host svchost.Hostname) (user string, password auth.Password, ok bool)

	once      sync.Once
	http      *httpx.Client
	discovery *disco.Client

	versions  flight.Group[addrs.Provider, *provider.Versions]
	packages  flight.Group[packageKey, *provider.Package]
	documents flight.Group[documentKey, []byte]

	moduleVersions  flight.Group[addrs.Module, *module.Versions]
	moduleLocations flight.Group[moduleKey, *module.Location]
}

var (
	_ provider.Source = (*Client)(nil)
	_ module.Source   = (*Client)(nil)
)

// maxDocument is how many bytes a document with versions, a package or a location may
// have.
const maxDocument = 16 << 20

// errNothing is the answer to those who went on after the error of a parser.
var errNothing = errors.New("the zero value names nothing that could be asked for")

func (c *Client) setup() {
	c.once.Do(func() {
		c.http = httpx.New(c.Transport)
		c.discovery = &disco.Client{Transport: c.Transport, Hosts: c.Hosts}
	})
}

// documentRequest makes the request for the document at the path of these parts in
// a service of host.
func (c *Client) documentRequest(ctx context.Context, host svchost.Hostname, id disco.Service, parts ...string) (httpx.Request, error) {
	if host.IsZero() || slices.Contains(parts, "") {
		return httpx.Request{}, errNothing
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
	return httpx.Request{
		URL:      httpx.Endpoint(base, parts...),
		Accept:   httpx.JSON,
		TokenFor: services.TokenHost(),
		Limit:    maxDocument,
	}, nil
}
