package auth

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
)

// A Cache is a [Source] and [Invalidator] that caches the tokens of another source.
//
// Concurrent calls for one host share one lookup, and all callers get the same token. So the source
// sees no values of their contexts: do not cache a source that takes the user from the context. If the context of a call ends, the call
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
	token, err := c.tokens.Do(ctx, host, func(ctx context.Context) (Token, time.Duration, error) {
		token, err := Lookup(anonymous{ctx}, c.src, host)
		return token, c.ttl, err
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
	c.tokens.Forget(func(other svchost.Hostname) bool { return other == host })
}

// anonymous is a context without values, since one of them could be the identity of a caller.
type anonymous struct{ context.Context }

func (anonymous) Value(any) any { return nil }

// String names the source.
func (c *Cache) String() string { return nameOf(c.src) }
