package cliconfig

import (
	"context"
	"maps"
	"sync"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

type hostname = svchost.Hostname

// tokens is the source of the user's tokens.
type tokens struct {
	set     *settings
	environ *auth.Environment
	program auth.Store  // the credentials helper, or nil
	helper  *auth.Cache // program with a cache, or nil

	mu     sync.Mutex
	blocks map[hostname]*credential
}

var _ auth.Invalidator = (*tokens)(nil)

func (c *Config) userTokens() *tokens {
	return c.user.get(func() *tokens {
		s := c.settings()
		t := &tokens{set: s, environ: auth.Environ(s.environ()), blocks: maps.Clone(s.credentials)}
		if h := s.helper; h != nil {
			t.program = program(func() auth.Helper {
				return auth.Helper{Path: h.path, Args: h.args, Env: s.environ}
			})
			t.helper = auth.Cached(t.program, 0)
		}
		return t
	})
}

// A program is a helper whose arguments are not printed. They can be secrets.
type program func() auth.Helper

func (p program) Token(ctx context.Context, host hostname) (auth.Token, error) {
	return p().Token(ctx, host)
}

func (p program) Save(ctx context.Context, host hostname, token auth.Token) error {
	return p().Save(ctx, host, token)
}

func (p program) Forget(ctx context.Context, host hostname) error { return p().Forget(ctx, host) }

func (p program) String() string { return p().String() }

// Token returns the token of host.
func (t *tokens) Token(ctx context.Context, host hostname) (auth.Token, error) {
	token, _, err := t.find(ctx, host)
	return token, err
}

// find returns the token of host and its place, or the zero Place if the configuration has
// nothing for the host.
func (t *tokens) find(ctx context.Context, host hostname) (auth.Token, Place, error) {
	token, err := auth.Lookup(ctx, t.environ, host)
	if err != nil || !token.IsZero() {
		return token, Place{Variable: t.environ.Variable(host)}, err
	}
	if block := t.block(host); block != nil {
		if block.err != nil {
			err = &auth.SourceError{Host: host, Source: block.place.String(), Err: block.err}
		}
		return block.token, block.place, err
	}
	if t.helper == nil {
		return auth.Token{}, Place{}, nil
	}
	token, err = auth.Lookup(ctx, t.helper, host)
	if err == nil && token.IsZero() {
		return token, Place{}, nil
	}
	return token, Place{File: t.set.helper.path}, err
}

func (t *tokens) block(host hostname) *credential {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.blocks[host]
}

// Invalidate removes the answer of the helper from the cache.
func (t *tokens) Invalidate(host hostname) {
	if t.helper != nil {
		t.helper.Invalidate(host)
	}
}

func (t *tokens) String() string { return "CLI configuration" }

// TokenOrigin returns the place of the user's token for host: a variable, a credentials
// block, or the program of the credentials helper, which it runs if necessary. The place is
// zero if the host is not configured. For a block without a token, found is false.
func (c *Config) TokenOrigin(ctx context.Context, host svchost.Hostname) (from Place, found bool, err error) {
	token, from, err := c.userTokens().find(ctx, host)
	return from, !token.IsZero(), err
}
