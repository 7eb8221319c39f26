package disco

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
)

// A Client finds the services of hosts and keeps what it found. The zero Client
// is ready to use: it sends no tokens. A Client is safe for concurrent use, must
// not be copied, and its fields must not be changed after the first use.
type Client struct {
	// HTTP makes the requests. Its Transport, Jar and Timeout are used, and its
	// CheckRedirect is asked after the rules of this package. Set it to trust
	// another certificate authority, to show a client certificate or to use
	// another proxy. Nil is a client shared by the tofureg module, which takes
	// its proxy from the environment.
	HTTP *http.Client
	// UserAgent is the User-Agent header; "" is that of the tofureg module.
	UserAgent string
	// Timeout is how long one attempt may take, with redirects and body: 10
	// seconds if it is 0, without limit if it is negative.
	Timeout time.Duration
	// Retries is how often a request is repeated after a failed connection or
	// a status such as 503: two times if it is 0, never if it is negative.
	Retries int

	// Credentials has the tokens. Nil means that there are none. A source that
	// fails makes Discover fail.
	Credentials auth.Source

	// Overrides has the services of hosts that are not to be asked, made by
	// NewServices. A nil value means that the host has no services.
	Overrides map[svchost.Hostname]*Services
	// Aliases maps hostnames to those that stand in for them: the services of
	// an alias are those of its target, and so are the tokens, since a token
	// must not go to a host that it was not issued for. An override of the
	// target is honoured; an alias of the target is not. An override of the
	// alias itself comes first and then the alias has no effect.
	Aliases map[svchost.Hostname]svchost.Hostname

	// TTL is how long the services of a host are kept, also when it has none:
	// one hour if it is 0, not at all if it is negative. Failures are never
	// kept.
	TTL time.Duration

	// AllowHTTP accepts redirects to http, and service URLs with http. A token
	// never goes along there. The first request is made with https all the
	// same.
	AllowHTTP bool
	// VetoHost is asked before each request and each redirect, with the host to
	// be connected to, and its port if that is not the default. Names are in
	// lower-case ASCII, addresses in their shortest form without a zone. An error
	// stops the request and is wrapped in the result. Nil allows every host.
	VetoHost func(host string) error

	// Logger gets debug records of requests, and one for each host that was
	// asked with success. There are no tokens and no queries of URLs in them.
	// Nil is silent.
	Logger *slog.Logger

	cache flight.Cache[svchost.Hostname, *Services]
}

// Discover returns the services of host: those of Overrides, or those that the
// host declared within the last TTL, or those that it declares now. A host that
// answers 404 has no services, and Discover returns Services without any.
//
// Concurrent callers for one host share one request. A caller whose context
// ends leaves at once; when the last one has left, the request is cancelled.
//
// Any error is a [*failure.Error]. It is never kept, and never ErrNoService: the next
// call asks again.
func (c *Client) Discover(ctx context.Context, host svchost.Hostname) (*Services, error) {
	if s, ok := c.Overrides[host]; ok {
		return s.view(host, host, c.AllowHTTP), nil
	}
	target := c.target(host)
	if s, ok := c.Overrides[target]; ok {
		return s.view(host, target, c.AllowHTTP), nil
	}
	if target.IsZero() {
		return nil, failed(host, errors.New("no hostname"))
	}
	s, ok := c.cache.Get(target)
	if !ok {
		var err error
		s, err = c.cache.Do(ctx, target, c.TTL, func(ctx context.Context) (*Services, error) {
			return c.fetch(ctx, target)
		})
		if err != nil {
			return nil, failed(host, err)
		}
	}
	return s.view(host, target, c.AllowHTTP), nil
}

// Forget drops what is kept of host, so that the next Discover asks it again. For
// an alias, that is what is kept of its target. A request that is under way is
// left alone, but its result reaches only those who wait for it already.
func (c *Client) Forget(host svchost.Hostname) { c.cache.Forget(c.target(host)) }

// target returns the host to be asked about host.
func (c *Client) target(host svchost.Hostname) svchost.Hostname {
	if target, ok := c.Aliases[host]; ok {
		return target
	}
	return host
}
