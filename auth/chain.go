package auth

import (
	"context"
	"slices"

	"github.com/tofureg/tofureg/disco/svchost"
)

// Chain returns a Source that tries sources in order and returns the first token. An error
// ends the search. Nil sources are ignored. The result is an [Invalidator] that calls the
// Invalidators among sources.
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
		if src, ok := src.(Invalidator); ok {
			src.Invalidate(host)
		}
	}
}

func (c *chain) String() string { return "chain of sources" }
