package disco

import (
	"context"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/transport"
)

// A Client finds the services of hosts. The zero Client is ready to use: it sends no tokens.
// A Client is safe for concurrent use, must not be copied, and its fields must not be
// changed after the first use.
type Client struct {
	// Transport has the settings of requests, tokens among them. Nil is the zero one.
	Transport *transport.Client
	// Hosts is what is known about hosts. Clients may share it. If nil, the Client has a
	// zero one of its own.
	Hosts *Hosts

	own Hosts
}

// Discover returns the services of host: those of Overrides, or those that the
// host declared within the last TTL, or those that it declares now. A host that
// answers 404 has no services, and Discover returns Services without any.
//
// Concurrent callers of one client for one host share one request. A caller whose
// context ends leaves at once; when the last one has left, the request is cancelled.
//
// Any error is a [*failure.Error]. It is never kept, and never ErrNoService: the next
// call asks again.
func (c *Client) Discover(ctx context.Context, host svchost.Hostname) (*Services, error) {
	return c.hosts().discover(ctx, c.Transport, host)
}

// TokenHost returns the host whose token may be sent to the services of host, without a
// request: host itself, unless it is an alias.
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
