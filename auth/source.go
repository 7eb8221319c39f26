package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A Source returns the tokens of hosts. It must be safe for concurrent use.
type Source interface {
	// Token returns the token of host, or the zero Token if the source has none. After an
	// error, the caller must not continue without a token. Token returns when ctx ends.
	Token(ctx context.Context, host svchost.Hostname) (Token, error)
}

// An Invalidator is a [Source] that caches tokens, or contains such sources.
type Invalidator interface {
	// Invalidate removes host from the cache. Clients call it if a server refuses the token
	// (status 401). The token itself is not deleted.
	Invalidate(host svchost.Hostname)
}

// A SourceError is the error of a [Source], without the token.
type SourceError struct {
	Host   svchost.Hostname // of the token
	Source string           // name of the source, for example "environment"
	Err    error            // the cause, never nil
}

// Error returns "token for HOST: SOURCE: CAUSE".
func (e *SourceError) Error() string {
	return fmt.Sprintf("token for %s: %s: %v", e.Host.Display(), e.Source, e.Err)
}

// Unwrap returns the cause.
func (e *SourceError) Unwrap() error { return e.Err }

// Lookup returns the token of host from src, which can be nil. All errors wrap a
// [*SourceError].
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

// A Func is a [Source] that calls a function. The function must be safe for concurrent use,
// and must check the host, which can come from an attacker:
//
//	auth.Func(func(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
//		if host != ours {
//			return auth.Token{}, nil
//		}
//		return vault.Read(ctx, "registry-token")
//	})
//
// For a fixed token, use [Token.For].
type Func func(ctx context.Context, host svchost.Hostname) (Token, error)

// Token calls f.
func (f Func) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	token, err := f(ctx, host)
	if err != nil {
		return Token{}, asSourceError(f, host, err)
	}
	return token, nil
}

// String returns "function".
func (f Func) String() string { return "function" }

// Static returns a [Source] with a copy of tokens. It never fails.
func Static(tokens map[svchost.Hostname]Token) Source {
	return &static{tokens: maps.Clone(tokens)}
}

type static struct{ tokens map[svchost.Hostname]Token }

func (s *static) Token(_ context.Context, host svchost.Hostname) (Token, error) {
	return s.tokens[host], nil
}

func (s *static) String() string { return "static tokens" }
