package auth

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
)

// A Cache is a [Source] that keeps what another source says. [Cached] makes one. It is
// an [Invalidator].
//
// Concurrent callers for one host share one lookup, and a slow lookup for one host
// delays no other host. If the context of a caller ends, the caller returns at once with
// an error that wraps the context's error; the lookup continues while another caller
// waits for it.
type Cache struct {
	src    Source
	ttl    time.Duration
	tokens flight.Cache[svchost.Hostname, Token]
}

// Cached returns a Cache that keeps what src says about a host for ttl, including that
// src has no token for it. Errors are never kept. If ttl is 0, it is one hour; if it is
// negative, nothing is kept. A nil src has no tokens.
func Cached(src Source, ttl time.Duration) *Cache { return &Cache{src: src, ttl: ttl} }

// Token returns the token of host, from the cache or from the source behind it.
func (c *Cache) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
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

// Invalidate drops what is kept for host. A lookup in progress reaches only the callers
// that already wait for it. If the source behind the cache is an [Invalidator], it is
// called too.
func (c *Cache) Invalidate(host svchost.Hostname) {
	// The inner one first: a lookup that comes between must not bring back
	// what the inner one still keeps.
	if keeper, ok := c.src.(Invalidator); ok {
		keeper.Invalidate(host)
	}
	c.tokens.Forget(host)
}

// String names the source behind the cache, which is the one that matters.
func (c *Cache) String() string { return nameOf(c.src) }
