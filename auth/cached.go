package auth

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
)

// A Cache is a [Source] and [Invalidator] that caches the tokens of another source.
//
// Concurrent calls for one host share one lookup. If the context of a call ends, the call
// returns; the lookup continues for the other calls.
type Cache struct {
	src    Source
	ttl    time.Duration
	tokens flight.Cache[svchost.Hostname, Token]
}

// Cached returns a Cache that keeps the results of src for ttl, also for hosts without a
// token. Errors are not cached. If ttl is 0, it is one hour; if negative, nothing is cached.
// A nil src has no tokens.
func Cached(src Source, ttl time.Duration) *Cache { return &Cache{src: src, ttl: ttl} }

// Token returns the cached token, or asks the source.
func (c *Cache) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	if token, ok := c.tokens.Get(host); ok {
		return token, nil
	}
	token, err := c.tokens.Do(ctx, host, c.ttl, func(ctx context.Context) (Token, error) {
		return Lookup(ctx, c.src, host)
	})
	if err != nil {
		return Token{}, asSourceError(c, host, err)
	}
	return token, nil
}

// Invalidate removes host from the cache, and from the source if it is an [Invalidator].
// Later calls do not use the result of a lookup in progress.
func (c *Cache) Invalidate(host svchost.Hostname) {
	// Source first: otherwise a concurrent lookup could cache its old token again.
	if src, ok := c.src.(Invalidator); ok {
		src.Invalidate(host)
	}
	c.tokens.Forget(host)
}

// String names the source.
func (c *Cache) String() string { return nameOf(c.src) }
