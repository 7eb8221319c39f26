package disco

import (
	"context"
	"errors"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/transport"
)

// Hosts is what is known about the services of hosts: what a program states, and what was
// learnt from them. It holds neither tokens nor settings of requests, so that clients with
// different ones may share it: each asks with its own. The zero Hosts is ready to use. Hosts
// is safe for concurrent use, must not be copied, and its fields must not be changed after
// the first use.
type Hosts struct {
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
	// kept, nor are documents above 64 KiB.
	TTL time.Duration

	cache flight.Cache[svchost.Hostname, *Services]
}

// maxKept bounds the documents that are kept, in bytes. Real ones have a few hundred, and
// whoever chooses the hosts that a program asks must not fill its memory.
const maxKept = 64 << 10

func (h *Hosts) discover(ctx context.Context, web *transport.Client, host svchost.Hostname) (*Services, error) {
	client := httpx.New(web)
	if s, ok := h.Overrides[host]; ok {
		return s.view(host, host, client.AllowHTTP), nil
	}
	target := h.tokenHost(host)
	if s, ok := h.Overrides[target]; ok {
		return s.view(host, target, client.AllowHTTP), nil
	}
	if target.IsZero() {
		return nil, failed(host, errors.New("no hostname"))
	}
	s, ok := h.cache.Get(target)
	if !ok {
		var err error
		s, err = h.cache.DoBy(ctx, target, web, h.TTL, func(ctx context.Context) (*Services, error) {
			s, err := fetch(ctx, client, target)
			if err == nil && s.doc.size > maxKept {
				h.cache.Forget(target) // the callers that wait get it all the same
			}
			return s, err
		})
		if err != nil {
			return nil, failed(host, err)
		}
	}
	return s.view(host, target, client.AllowHTTP), nil
}

// Forget drops what was learnt about host, so that the next Discover asks it again. For
// an alias, that is what was learnt about its target. A request that is under way is
// left alone, but its result reaches only those who wait for it already.
func (h *Hosts) Forget(host svchost.Hostname) { h.cache.Forget(h.tokenHost(host)) }

// tokenHost returns the host to be asked about host, whose token is sent.
func (h *Hosts) tokenHost(host svchost.Hostname) svchost.Hostname {
	if _, ok := h.Overrides[host]; ok {
		return host
	}
	if target, ok := h.Aliases[host]; ok {
		return target
	}
	return host
}
