package disco

import (
	"context"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/transport"
)

// A Client finds the services of hosts. The zero Client sends no tokens. A Client is safe for
// concurrent use, and must not be copied or changed after the first use.
type Client struct {
	Transport *transport.Client // HTTP settings; if nil, zero
	Hosts     *Hosts            // cache, which Clients may share; if nil, the Client has its own

	own Hosts
}

// Discover returns the services of host, from [Hosts] or by a request. A host that answers 404
// has no services, which is not an error.
//
// Concurrent calls with the same token for a host share a request. The error is a [*failure.Error], which is not
// cached.
func (c *Client) Discover(ctx context.Context, host svchost.Hostname) (*Services, error) {
	return c.hosts().discover(ctx, c.Transport, host)
}

// TokenHost returns the host whose token is sent with the request for host: the target if host is
// an alias, otherwise host. It makes no request.
func (c *Client) TokenHost(host svchost.Hostname) svchost.Hostname {
	return c.hosts().tokenHost(host)
}

// Forget calls [Hosts.Forget].
func (c *Client) Forget(host svchost.Hostname) { c.hosts().Forget(host) }

func (c *Client) hosts() *Hosts {
	if c.Hosts == nil {
		return &c.own
	}
	return c.Hosts
}
