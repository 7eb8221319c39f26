package auth_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// counter is a source with numbered tokens.
type counter struct {
	calls map[svchost.Hostname]int
	err   error
	none  bool
}

func (c *counter) Token(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
	if c.calls == nil {
		c.calls = map[svchost.Hostname]int{}
	}
	c.calls[host]++
	if c.err != nil || c.none || ctx.Err() != nil {
		return auth.Token{}, cmp.Or(c.err, ctx.Err())
	}
	return auth.NewToken(fmt.Sprintf("token-%d", c.calls[host]))
}

// want checks the token that src returns for host, "" for no token.
func want(t *testing.T, src auth.Source, host svchost.Hostname, token string) {
	t.Helper()
	if tok, err := src.Token(t.Context(), host); tok.Reveal() != token || err != nil {
		t.Errorf("token of %s = %q, %v, want %q", host, tok.Reveal(), err, token)
	}
}

func TestCachedLifetime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ ttl, kept time.Duration }{{time.Minute, time.Minute}, {0, time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			src := auth.Cached(&counter{}, tt.ttl)
			want(t, src, hostA, "token-1")
			time.Sleep(tt.kept - 1)
			want(t, src, hostA, "token-1")
			time.Sleep(time.Nanosecond)
			want(t, src, hostA, "token-2")
			want(t, src, hostB, "token-1")
		})
	}
	uncached := auth.Cached(&counter{}, -1)
	want(t, uncached, hostA, "token-1")
	want(t, uncached, hostA, "token-2")
}

func TestCachedKeepsMissesButNoErrors(t *testing.T) {
	t.Parallel()
	inner := &counter{none: true}
	src := auth.Cached(inner, 0)
	want(t, src, hostA, "")
	want(t, src, hostA, "")
	if n := inner.calls[hostA]; n != 1 {
		t.Errorf("a miss was looked up %d times", n)
	}

	failing := &counter{err: errBroken}
	src = auth.Cached(failing, 0)
	for range 2 {
		if _, err := src.Token(t.Context(), hostA); !errors.Is(err, errBroken) {
			t.Errorf("error %v", err)
		}
	}
	failing.err = nil
	want(t, src, hostA, "token-3")

	want(t, auth.Cached(nil, 0), hostA, "")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := src.Token(ctx, hostB)
	if e, ok := errors.AsType[*auth.SourceError](err); !ok || e.Host != hostB || !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v, want a *SourceError that wraps Canceled", err)
	}
}

// TestCachedSeesNoUser: a source that takes the user from the context gives no user's token to others.
func TestCachedSeesNoUser(t *testing.T) {
	t.Parallel()
	type user struct{}
	src := auth.Cached(sourceFunc(func(ctx context.Context, _ svchost.Hostname) (auth.Token, error) {
		if ctx.Value(user{}) == nil {
			return auth.Token{}, nil
		}
		return auth.MustNewToken("of-alice"), nil
	}), 0)
	for _, ctx := range []context.Context{context.WithValue(t.Context(), user{}, "alice"), t.Context()} {
		if token, err := src.Token(ctx, hostA); err != nil || !token.IsZero() {
			t.Errorf("Token = %q, %v, want no token", token.Reveal(), err)
		}
	}
}

func TestCachedInvalidate(t *testing.T) {
	t.Parallel()
	inner := &counter{}
	src := auth.Cached(auth.Cached(inner, 0), 0)
	want(t, src, hostA, "token-1")
	want(t, src, hostB, "token-1")
	src.Invalidate(hostA)
	want(t, src, hostA, "token-2") // both caches were invalidated
	want(t, src, hostB, "token-1")
	src.Invalidate(svchost.MustParse("never-asked.test"))
}
