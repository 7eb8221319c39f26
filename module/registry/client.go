package registry

import (
	"sync"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/transport"
)

// Client is a client of all module registries. The zero value is anonymous. Set the fields before the first call. A
// Client is safe for concurrent use and must not be copied. Broken downloads resume if the server permits.
//
// Concurrent calls share identical requests for documents with the same token. Results are not cached.
type Client struct {
	Transport *transport.Settings // settings and tokens; may be nil

	// Hosts caches the services of hosts. Clients may share it. If nil, the Client has its own.
	Hosts *disco.Hosts

	// ModuleCredentials, if not nil, returns the user and password for a server of module packages, such as
	// [auth.Netrc.Lookup]. They are sent as basic credentials over https, not across a redirect to another origin, nor
	// beside a token, a password in the URL or a presigned query. Calls may be concurrent.
	ModuleCredentials func(host svchost.Hostname) (user string, password auth.Password, ok bool)

	once      sync.Once
	http      *httpx.Client
	discovery *disco.Client
	lists     httpx.Shared[*module.Versions]
	locations httpx.Shared[*module.Location]
}

var _ module.Source = (*Client)(nil)

func (c *Client) setup() {
	c.once.Do(func() {
		c.http = httpx.New(c.Transport)
		c.discovery = &disco.Client{Transport: c.Transport, Hosts: c.Hosts}
	})
}
