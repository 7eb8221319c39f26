package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
)

// A Source returns tokens. It must be safe for concurrent use. Errors name it by a method String.
type Source interface {
	// Token returns the token of host, or the zero Token. After an error, the caller must not continue without a
	// token. Token returns when ctx ends.
	Token(ctx context.Context, host svchost.Hostname) (Token, error)
}

// Invalidator is a Source that caches tokens, or contains such a source.
type Invalidator interface {
	Source
	// Invalidate removes host from all these caches. Clients call it, also concurrently, after status 401.
	Invalidate(host svchost.Hostname)
}

// A Store is a Source that can save and forget tokens. After a change, the caller must call Invalidate of a
// source that caches them.
type Store interface {
	Source
	// Save replaces the token of host. The zero Token is [ErrInvalidToken]. After another error,
	// the token may have been saved.
	Save(ctx context.Context, host svchost.Hostname, token Token) error
	// Forget removes the token of host, if any.
	Forget(ctx context.Context, host svchost.Hostname) error
}

// A SourceError is the error of [Lookup], and of each Source and Store of this package, without the token.
type SourceError struct {
	Host   svchost.Hostname // of the token
	Source string           // such as "environment"
	Err    error            // never nil
}

func (e *SourceError) Error() string {
	return fmt.Sprintf("token for %s: %s: %v", e.Host.Display(), e.Source, e.Err)
}

func (e *SourceError) Unwrap() error { return e.Err }

// Lookup returns the token of host from src, which can be nil.
func Lookup(ctx context.Context, src Source, host svchost.Hostname) (Token, error) {
	if src == nil {
		return Token{}, nil
	}
	token, err := src.Token(ctx, host)
	if err != nil {
		return Token{}, asSourceError(src, host, err)
	}
	return token, nil
}

func asSourceError(src Source, host svchost.Hostname, err error) error {
	if _, ok := errors.AsType[*SourceError](err); ok {
		return err
	}
	return &SourceError{Host: host, Source: nameOf(src), Err: err}
}

func nameOf(src Source) string {
	if s, ok := src.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", src)
}

// Static returns a [Source] with a copy of tokens.
func Static(tokens map[svchost.Hostname]Token) Source {
	return &static{tokens: maps.Clone(tokens)}
}

type static struct{ tokens map[svchost.Hostname]Token }

func (s *static) Token(_ context.Context, host svchost.Hostname) (Token, error) {
	return s.tokens[host], nil
}

func (s *static) String() string { return "static tokens" }

// Chain returns a Source that returns the first token of sources. An error ends the search. Nil sources are
// ignored.
func Chain(sources ...Source) Invalidator {
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

// Cached returns a Source that keeps the results of src for ttl, also for hosts without a token, but no
// errors. If ttl is 0, one hour; if negative, nothing is cached. A nil src has no tokens. Invalidate also
// invalidates lookups in progress.
//
// Concurrent calls for a host share a lookup, which sees no values of contexts and continues while one of them
// waits.
func Cached(src Source, ttl time.Duration) Invalidator { return &cache{src: src, ttl: ttl} }

type cache struct {
	src    Source
	ttl    time.Duration
	tokens flight.Cache[svchost.Hostname, Token]
}

func (c *cache) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	token, err := c.tokens.Do(ctx, host, func(ctx context.Context) (Token, time.Duration, error) {
		token, err := Lookup(anonymous{ctx}, c.src, host)
		return token, c.ttl, err
	})
	if err != nil {
		return Token{}, asSourceError(c, host, err)
	}
	return token, nil
}

func (c *cache) Invalidate(host svchost.Hostname) {
	// Source first: otherwise a concurrent lookup could cache its old token again.
	if src, ok := c.src.(Invalidator); ok {
		src.Invalidate(host)
	}
	c.tokens.Forget(func(other svchost.Hostname) bool { return other == host })
}

// anonymous is a context without values, since one of them could be the identity of a caller.
type anonymous struct{ context.Context }

func (anonymous) Value(any) any { return nil }

func (c *cache) String() string { return nameOf(c.src) }

const environPrefix = "TF_TOKEN_"

// Environ returns the tokens in environ, as returned by [os.Environ]: TF_TOKEN_my__registry_test has the token
// of my-registry.test. [svchost.FromWire] parses the host. Variables with an invalid hostname or an empty
// value are ignored. Of several for a host, the last by name counts. A value that [NewToken] refuses is an error for its host.
func Environ(environ []string) *Environment {
	values := map[string]string{}
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, environPrefix); ok {
			if name, value, ok := strings.Cut(rest, "="); ok {
				values[name] = value
			}
		}
	}
	e := &Environment{chosen: map[svchost.Hostname]variable{}}
	for name, value := range values {
		// Three underscores become "-.", which is invalid.
		host, err := svchost.FromWire(strings.ReplaceAll(strings.ReplaceAll(name, "__", "-"), "_", "."))
		if err != nil || value == "" || name <= e.chosen[host].name {
			continue
		}
		token, err := NewToken(value)
		e.chosen[host] = variable{name, token, err}
	}
	return e
}

// An Environment is a Source of environment variables.
type Environment struct {
	chosen map[svchost.Hostname]variable
}

// A variable is a TF_TOKEN_ variable: its name without the prefix, and its token or the
// error of the value.
type variable struct {
	name  string
	token Token
	err   error
}

// Token implements [Source].
func (e *Environment) Token(_ context.Context, host svchost.Hostname) (Token, error) {
	v := e.chosen[host]
	if v.err != nil {
		return Token{}, &SourceError{Host: host, Source: e.String(), Err: fmt.Errorf("variable %q: %w", e.Variable(host), v.err)}
	}
	return v.token, nil
}

// Variable returns the name of the variable for host, or "".
func (e *Environment) Variable(host svchost.Hostname) string {
	if v, ok := e.chosen[host]; ok {
		return environPrefix + v.name
	}
	return ""
}

// String returns "environment".
func (e *Environment) String() string { return "environment" }
