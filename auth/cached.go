package auth

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
)

// Cached returns a Source that keeps what src says about a host for ttl, also
// that it has no token. Errors are never kept. A ttl of 0 stands for one hour;
// with a negative one nothing is kept. A nil src has no tokens.
//
// Concurrent callers for one host share one lookup, and a slow lookup for one
// host delays no other host. A caller whose context ends leaves at once, with
// an error that wraps the context's; the lookup goes on while anyone waits for
// it.
//
// Cached is an [Invalidator]: Invalidate drops what is kept for a host, and the
// result of a lookup that is under way reaches only those who wait for it
// already. The call is passed on to src if that is an Invalidator too.
func Cached(src Source, ttl time.Duration) Source { return &cache{src: src, ttl: ttl} }

type cache struct {
	src    Source
	ttl    time.Duration
	tokens flight.Cache[svchost.Hostname, Token]
}

func (c *cache) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	if token, ok := c.tokens.Get(host); ok {
		return token, nil
	}
	token, err := c.tokens.Do(ctx, host, c.ttl, func(ctx context.Context) (Token, error) {
		return Lookup(ctx, c.src, host)
	})
	if err != nil {
		// Also the end of our own context, which src has never seen.
		return Token{}, asSourceError(c, host, err)
	}
	return token, nil
}

func (c *cache) Invalidate(host svchost.Hostname) {
	// The inner one first: a lookup that comes between must not bring back
	// what the inner one still keeps.
	if keeper, ok := c.src.(Invalidator); ok {
		keeper.Invalidate(host)
	}
	c.tokens.Forget(host)
}

// String names the source behind the cache, which is the one that matters.
func (c *cache) String() string { return nameOf(c.src) }
