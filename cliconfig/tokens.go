package cliconfig

import (
	"context"
	"maps"
	"sync"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

type hostname = svchost.Hostname

// tokens is the source behind Config.Credentials.
type tokens struct {
	set     *settings
	environ *auth.Environment
	program auth.Store  // nil: there is no helper
	helper  *auth.Cache // program with what it has answered; nil: there is no helper

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

// program is a helper of which nothing prints the arguments: people do put secrets there.
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

// find returns the token of host, and where it is from; the zero Place if there is
// nothing about the host.
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

// Invalidate has the helper asked anew.
func (t *tokens) Invalidate(host hostname) {
	if t.helper != nil {
		t.helper.Invalidate(host)
	}
}

func (t *tokens) String() string { return "CLI configuration" }

// TokenOrigin tells where the user's token of host is from, for people. The place is a
// variable, a line of a file, or the program of the credentials helper, which is run if it
// must be. It is zero if nothing is known of the host. A place and no token means that a credentials block has none, or one that cannot
// be sent; the latter is an error too, as is a source that fails.
func (c *Config) TokenOrigin(ctx context.Context, host svchost.Hostname) (from Place, found bool, err error) {
	token, from, err := c.userTokens().find(ctx, host)
	return from, !token.IsZero(), err
}
