package auth

import (
	"context"
	"slices"

	"github.com/tofureg/tofureg/disco/svchost"
)

// Chain returns a Source that asks sources in their order and returns the first
// token. The first error ends the search: a source that fails is never passed
// over in favour of the next one. Nil sources are left out; a Chain of none has
// no tokens.
//
// A Chain is an [Invalidator], which passes the call on to all of its sources
// that are one.
func Chain(sources ...Source) Source {
	sources = slices.Clone(sources)
	return &chain{sources: slices.DeleteFunc(sources, func(s Source) bool { return s == nil })}
}

type chain struct{ sources []Source }

func (c *chain) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	for _, src := range c.sources {
		token, err := Lookup(ctx, src, host)
		if err != nil || !token.IsZero() {
			return token, err
		}
	}
	return Token{}, nil
}

func (c *chain) Invalidate(host svchost.Hostname) {
	for _, src := range c.sources {
		if keeper, ok := src.(Invalidator); ok {
			keeper.Invalidate(host)
		}
	}
}

func (c *chain) String() string { return "chain of sources" }
