package auth_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// counter is a source with numbered tokens and a delay.
type counter struct {
	mu    sync.Mutex
	calls map[svchost.Hostname]int
	delay map[svchost.Hostname]time.Duration
	err   error
	none  bool
}

func (c *counter) Token(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
	c.mu.Lock()
	if c.calls == nil {
		c.calls = map[svchost.Hostname]int{}
	}
	c.calls[host]++
	n, delay, err, none := c.calls[host], c.delay[host], c.err, c.none
	c.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return auth.Token{}, ctx.Err()
	}
	if err != nil || none {
		return auth.Token{}, err
	}
	return auth.NewToken(fmt.Sprintf("token-%d", n))
}

func (c *counter) asked(host svchost.Hostname) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[host]
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
	if n := inner.asked(hostA); n != 1 {
		t.Errorf("a miss was looked up %d times", n)
	}

	failing := &counter{err: errBroken}
	src = auth.Cached(failing, 0)
	for range 2 {
		if _, err := src.Token(t.Context(), hostA); !errors.Is(err, errBroken) {
			t.Errorf("error %v", err)
		}
	}
	failing.mu.Lock()
	failing.err = nil
	failing.mu.Unlock()
	want(t, src, hostA, "token-3")

	want(t, auth.Cached(nil, 0), hostA, "")
}

func TestCachedSharesALookup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &counter{delay: map[svchost.Hostname]time.Duration{hostA: time.Second}}
		src := auth.Cached(inner, 0)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { want(t, src, hostA, "token-1") })
		}
		start := time.Now()
		wg.Wait()
		if n, took := inner.asked(hostA), time.Since(start); n != 1 || took != time.Second {
			t.Errorf("%d lookups in %v", n, took)
		}
	})
}

// TestCachedSeesNoUser: a source that takes the user from the context gives no user's token to others.
func TestCachedSeesNoUser(t *testing.T) {
	t.Parallel()
	type user struct{}
	src := auth.Cached(auth.Func(func(ctx context.Context, _ svchost.Hostname) (auth.Token, error) {
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

func TestCachedSlowHostStallsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &counter{delay: map[svchost.Hostname]time.Duration{hostA: time.Hour}}
		src := auth.Cached(inner, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var slow error
		var wg sync.WaitGroup
		wg.Go(func() { _, slow = src.Token(ctx, hostA) })
		synctest.Wait()
		start := time.Now()
		want(t, src, hostB, "token-1")
		src.Invalidate(hostB)
		want(t, src, hostB, "token-2")
		if took := time.Since(start); took != 0 {
			t.Errorf("another host had to wait %v", took)
		}
		cancel()
		wg.Wait()
		var failed *auth.SourceError
		if !errors.Is(slow, context.Canceled) || !errors.As(slow, &failed) || failed.Host != hostA {
			t.Errorf("the cancelled lookup: %v", slow)
		}
	})
}

func TestCachedFirstCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &counter{delay: map[svchost.Hostname]time.Duration{hostA: time.Minute}}
		src := auth.Cached(inner, 0)
		first, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := src.Token(first, hostA); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() { want(t, src, hostA, "token-1") })
		synctest.Wait()
		leave()
		wg.Wait()
		want(t, src, hostA, "token-1")
	})
}

func TestCachedLastCallerStopsTheLookup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Bool
		src := auth.Cached(sourceFunc(func(ctx context.Context, _ svchost.Hostname) (auth.Token, error) {
			<-ctx.Done()
			stopped.Store(true)
			return auth.Token{}, ctx.Err()
		}), 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := src.Token(ctx, hostA); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if !stopped.Load() {
			t.Error("the lookup continues without callers")
		}
	})
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

func TestCachedInvalidateDuringALookup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &counter{delay: map[svchost.Hostname]time.Duration{hostA: time.Minute}}
		src := auth.Cached(inner, 0)
		var wg sync.WaitGroup
		wg.Go(func() { want(t, src, hostA, "token-1") }) // before Invalidate
		synctest.Wait()
		src.Invalidate(hostA)
		time.Sleep(time.Second)
		wg.Go(func() { want(t, src, hostA, "token-2") })
		wg.Wait()
		want(t, src, hostA, "token-2")
	})
}

func TestCachedIsBounded(t *testing.T) {
	t.Parallel()
	inner := &counter{}
	src := auth.Cached(inner, 0)
	for i := range 10_000 {
		host := svchost.MustParse(fmt.Sprintf("host%d.test", i))
		want(t, src, host, "token-1")
		want(t, src, host, "token-1")
	}
	want(t, src, svchost.MustParse("host0.test"), "token-2")
}

func TestCachedConcurrently(t *testing.T) {
	t.Parallel()
	src := auth.Cached(auth.Chain(&counter{}, auth.Environ(nil)), time.Nanosecond)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			host := []svchost.Hostname{hostA, hostB}[i%2]
			for range 200 {
				if tok, err := src.Token(t.Context(), host); tok.IsZero() || err != nil {
					t.Errorf("%v, %v", tok, err)
				}
				src.Invalidate(host)
			}
		})
	}
	wg.Wait()
}

func BenchmarkCached(b *testing.B) {
	src := auth.Cached(auth.Static(map[svchost.Hostname]auth.Token{hostA: auth.MustNewToken(secret)}), 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := src.Token(b.Context(), hostA); err != nil {
			b.Fatal(err)
		}
	}
}
