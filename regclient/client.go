package regclient

import (
	"cmp"
	"context"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/module/registry"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

// Client is a client of all registries. The zero value is anonymous. Set the fields before the first call. A Client is
// safe for concurrent use and must not be copied. Broken downloads resume if the server permits.
//
// Concurrent calls share identical requests for documents with the same token. Results are not cached.
type Client struct {
	Transport *transport.Settings // may be nil

	Hosts *disco.Hosts // if nil, the Client has its own

	ModuleCredentials func(host svchost.Hostname) (user string, password auth.Password, ok bool) // as in [registry.Client]

	once      sync.Once
	http      *httpx.Client
	discovery *disco.Client

	modules *registry.Client

	versions  httpx.Shared[*provider.Versions]
	packages  httpx.Shared[*provider.Package]
	documents httpx.Shared[[]byte]
}

var (
	_ provider.Source = (*Client)(nil)
	_ module.Source   = (*Client)(nil)
)

func (c *Client) setup() {
	c.once.Do(func() {
		hosts := cmp.Or(c.Hosts, &disco.Hosts{})
		c.http = httpx.New(c.Transport)
		c.discovery = &disco.Client{Transport: c.Transport, Hosts: hosts}
		c.modules = &registry.Client{Transport: c.Transport, Hosts: hosts, ModuleCredentials: c.ModuleCredentials}
	})
}

// ModuleVersions does what [registry.Client.ModuleVersions] does.
func (c *Client) ModuleVersions(ctx context.Context, m addrs.Module) (*module.Versions, error) {
	c.setup()
	return c.modules.ModuleVersions(ctx, m)
}

// ModuleLocation does what [registry.Client.ModuleLocation] does.
func (c *Client) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*module.Location, error) {
	c.setup()
	return c.modules.ModuleLocation(ctx, m, v)
}

// OpenModule does what [registry.Client.OpenModule] does.
func (c *Client) OpenModule(ctx context.Context, loc *module.Location) (*module.Body, error) {
	c.setup()
	return c.modules.OpenModule(ctx, loc)
}
