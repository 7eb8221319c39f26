package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A Source knows the tokens of hosts. It must be safe for concurrent use.
type Source interface {
	// Token returns the token of host. The zero Token with a nil error means
	// that this source has none. An error means that the source cannot tell:
	// whoever asks must not go on as if there were no token. Token returns
	// when ctx ends.
	Token(ctx context.Context, host svchost.Hostname) (Token, error)
}

// An Invalidator is a [Source] that keeps what it found, such as [Cached], or
// passes the call on to those that do, such as [Chain].
type Invalidator interface {
	// Invalidate drops what is kept in memory for host, so that the next
	// lookup asks anew. Clients call it when a server refuses the token
	// (status 401). It deletes nothing from where the token came.
	Invalidate(host svchost.Hostname)
}

// A SourceError says which source failed, and for which host. It never
// contains a token.
type SourceError struct {
	Host   svchost.Hostname // whose token was asked for
	Source string           // the source, in words: "environment"
	Err    error            // the cause, never nil
}

// Error returns a sentence of host, source and cause.
func (e *SourceError) Error() string {
	return fmt.Sprintf("token for %s: %s: %v", e.Host.Display(), e.Source, e.Err)
}

// Unwrap returns the cause.
func (e *SourceError) Unwrap() error { return e.Err }

// Lookup asks src for the token of host, as clients should: a nil src has no
// tokens, and any error is, or wraps, a [*SourceError]. If the error of src is
// none yet, Lookup makes it one; it names the source by its String method, or
// by its Go type if it has none.
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

// Func makes a [Source] of a function, which must be safe for concurrent use:
//
//	auth.Func(func(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
//		if host != ours {
//			return auth.Token{}, nil
//		}
//		return vault.Read(ctx, "registry-token")
//	})
//
// The function must compare host with the hosts that its token belongs to. Clients ask a
// source about every host that an address names, and an address may come from anyone: a
// function that returns one token for all hosts sends it to all of them. For a fixed token
// use [Token.For].
type Func func(ctx context.Context, host svchost.Hostname) (Token, error)

// Token calls f.
func (f Func) Token(ctx context.Context, host svchost.Hostname) (Token, error) { return f(ctx, host) }

// String returns "function".
func (f Func) String() string { return "function" }

// Static returns a Source that holds tokens: a copy of the map, so that later
// changes to it have no effect. It never fails.
func Static(tokens map[svchost.Hostname]Token) Source {
	return &static{tokens: maps.Clone(tokens)}
}

type static struct{ tokens map[svchost.Hostname]Token }

func (s *static) Token(_ context.Context, host svchost.Hostname) (Token, error) {
	return s.tokens[host], nil
}

func (s *static) String() string { return "static tokens" }
