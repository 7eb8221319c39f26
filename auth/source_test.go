package auth_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

var (
	hostA = svchost.MustParse("a.test")
	hostB = svchost.MustParse("b.test:8443")
)

var errBroken = errors.New("the vault is sealed")

// sourceFunc is a caller's own source, without a String method.
type sourceFunc func(ctx context.Context, host svchost.Hostname) (auth.Token, error)

func (f sourceFunc) Token(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
	return f(ctx, host)
}

// vault is a caller's own source with a String method. It records calls of Invalidate.
type vault struct {
	sourceFunc
	invalidated []svchost.Hostname
}

func (*vault) String() string                     { return "company vault" }
func (v *vault) Invalidate(host svchost.Hostname) { v.invalidated = append(v.invalidated, host) }

func broken(context.Context, svchost.Hostname) (auth.Token, error) { return auth.Token{}, errBroken }

func empty(context.Context, svchost.Hostname) (auth.Token, error) { return auth.Token{}, nil }

func TestStatic(t *testing.T) {
	t.Parallel()
	tokens := map[svchost.Hostname]auth.Token{hostA: auth.MustNewToken("a"), hostB: {}}
	src := auth.Static(tokens)
	tokens[hostA] = auth.MustNewToken("changed")
	for host, text := range map[svchost.Hostname]string{
		hostA: "a", hostB: "", svchost.MustParse("b.test"): "", svchost.MustParse("a.test:8443"): "", {}: "",
	} {
		want(t, src, host, text)
	}
	want(t, auth.Static(nil), hostA, "")
	src = auth.MustNewToken("secret").For(hostA, hostB)
	for host, text := range map[svchost.Hostname]string{hostA: "secret", hostB: "secret", svchost.MustParse("b.test"): "", {}: ""} {
		want(t, src, host, text)
	}
	want(t, auth.Token{}.For(hostA), hostA, "")
}

func TestChain(t *testing.T) {
	t.Parallel()
	first := auth.Static(map[svchost.Hostname]auth.Token{hostA: auth.MustNewToken("first")})
	second := auth.Static(map[svchost.Hostname]auth.Token{hostA: auth.MustNewToken("second"), hostB: auth.MustNewToken("second")})
	asked := 0
	last := sourceFunc(func(context.Context, svchost.Hostname) (auth.Token, error) { asked++; return auth.Token{}, errBroken })

	members := []auth.Source{nil, first, sourceFunc(empty), nil, second, last}
	src := auth.Chain(members...)
	members[1] = second // the chain has its own copy
	for host, text := range map[svchost.Hostname]string{hostA: "first", hostB: "second"} {
		want(t, src, host, text)
	}
	if asked != 0 {
		t.Error("a source after the one with the token was asked")
	}
	for _, src := range []auth.Source{auth.Chain(), auth.Chain(nil), auth.Chain(auth.Chain())} {
		want(t, src, hostA, "")
	}
}

func TestFailingSourceIsNeverHidden(t *testing.T) {
	t.Parallel()
	good := auth.Static(map[svchost.Hostname]auth.Token{hostA: auth.MustNewToken(secret)})
	withToken := sourceFunc(func(context.Context, svchost.Hostname) (auth.Token, error) {
		return auth.MustNewToken(secret), errBroken
	})
	unnamed, named := sourceFunc(broken), &vault{sourceFunc: broken}
	for _, tt := range []struct {
		name   string
		src    auth.Source
		source string
	}{
		{"chain, unnamed", auth.Chain(unnamed, good), "auth_test.sourceFunc"},
		{"chain, named", auth.Chain(sourceFunc(empty), named, good), "company vault"},
		{"token beside the error", auth.Chain(withToken, good), "auth_test.sourceFunc"},
		{"cached", auth.Cached(named, 0), "company vault"},
		{"cached chain", auth.Cached(auth.Chain(named, good), 0), "company vault"},
		{"chain of cached", auth.Chain(auth.Cached(unnamed, -1), good), "auth_test.sourceFunc"},
		{"chain of chain", auth.Chain(auth.Chain(auth.Chain(named)), good), "company vault"},
		{"environment", auth.Chain(auth.Environ([]string{"TF_TOKEN_a_test=" + secret + "\n"}), good), "environment"},
	} {
		tok, err := auth.Lookup(t.Context(), tt.src, hostA)
		if !tok.IsZero() {
			t.Errorf("%s: a token was returned beside the error", tt.name)
		}
		var failed *auth.SourceError
		if !errors.As(err, &failed) {
			t.Errorf("%s: %v, want a *SourceError", tt.name, err)
			continue
		}
		if failed.Host != hostA || failed.Source != tt.source {
			t.Errorf("%s: the error names %s and %q, want %q", tt.name, failed.Host, failed.Source, tt.source)
		}
		if !errors.Is(err, errBroken) && !errors.Is(err, auth.ErrInvalidToken) {
			t.Errorf("%s: the error does not wrap the cause: %v", tt.name, err)
		}
		if !strings.HasPrefix(err.Error(), "token for a.test: "+tt.source+": ") || leaks(err.Error()) {
			t.Errorf("%s: text %q", tt.name, err)
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	if tok, err := auth.Lookup(t.Context(), nil, hostA); !tok.IsZero() || err != nil {
		t.Errorf("a nil source: %v, %v", tok, err)
	}
	src := auth.Static(map[svchost.Hostname]auth.Token{hostA: auth.MustNewToken(secret)})
	if tok, err := auth.Lookup(t.Context(), src, hostA); tok.Reveal() != secret || err != nil {
		t.Errorf("%v, %v", tok, err)
	}
	cancelled := sourceFunc(func(ctx context.Context, _ svchost.Hostname) (auth.Token, error) { return auth.Token{}, ctx.Err() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := auth.Lookup(ctx, cancelled, hostA); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled lookup: %v", err)
	}
}

func TestChainInvalidatesItsSources(t *testing.T) {
	t.Parallel()
	one, two := &vault{sourceFunc: empty}, &vault{sourceFunc: empty}
	src := auth.Chain(one, sourceFunc(empty), auth.Chain(auth.Cached(two, 0)))
	src.Invalidate(hostA)
	for i, v := range []*vault{one, two} {
		if len(v.invalidated) != 1 || v.invalidated[0] != hostA {
			t.Errorf("source %d: Invalidate was called for %v", i, v.invalidated)
		}
	}
}

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

// wire parses a hostname as it is written in a variable.
func wire(t testing.TB, name string) svchost.Hostname {
	t.Helper()
	return must.Get(svchost.FromWire(name))(t)
}

func TestEnvironNames(t *testing.T) {
	t.Parallel()
	for name, host := range casetest.Pairs(t, "environment-names.txt") {
		src := auth.Environ([]string{"PATH=/bin", name + "=" + secret, "TF_TOKEN_other_test=x"})
		want(t, src, wire(t, host), secret)
		want(t, src, wire(t, "elsewhere.test"), "")
	}
}

func TestEnvironIgnores(t *testing.T) {
	t.Parallel()
	hosts := []string{"example.com", "example", "com", "a-b.test", "a.b.test", "a.test", "b.test"}
	for _, entry := range []string{
		"", "=", "=C:=C:\\dir", "TF_TOKEN_", "TF_TOKEN_=x", "TF_TOKEN=x", "TF_TOKEN_example_com", "TF_TOKEN_example_com=",
		"tf_token_example_com=x", "Tf_Token_example_com=x", "TF_TOKENexample_com=x", " TF_TOKEN_example_com=x",
		"MY_TF_TOKEN_example_com=x", "TF_TOKEN_example_com_=x", "TF_TOKEN__example_com=x", "TF_TOKEN_a___b_test=x",
		"TF_TOKEN___example_com=x", "TF_TOKEN_https://example_com=x", "TF_TOKEN_example_com:0=x", "TF_TOKEN_example_com:=x",
		"TF_TOKEN_example_com:99999=x", "TF_TOKEN_example com=x", "TF_TOKEN_example_com\x00=x", "TF_TOKEN_\xff=x",
	} {
		src := auth.Environ([]string{entry})
		for _, host := range hosts {
			if got, err := src.Token(t.Context(), wire(t, host)); !got.IsZero() || err != nil {
				t.Errorf("%q: token of %s = %q, %v", entry, host, got.Reveal(), err)
			}
		}
	}
	want(t, auth.Environ(nil), svchost.Hostname{}, "")
}

func TestEnvironTwoVariablesForOneHost(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct {
		Want    string
		Ordered bool
		Environ []string
	}](t, "environments.txt") {
		want(t, auth.Environ(tt.Environ), wire(t, "my-host.test"), tt.Want)
		for i := 1; !tt.Ordered && i < len(tt.Environ); i++ {
			tt.Environ = append(tt.Environ[1:], tt.Environ[0])
			want(t, auth.Environ(tt.Environ), wire(t, "my-host.test"), tt.Want)
		}
	}
}

func TestEnvironInvalidValue(t *testing.T) {
	t.Parallel()
	for _, value := range []string{secret + "\n", "Bearer " + secret, " " + secret, secret + "\x1b", secret + "ü", " "} {
		src := auth.Environ([]string{"TF_TOKEN_bad_test=" + value, "TF_TOKEN_good_test=ok"})
		want(t, src, wire(t, "good.test"), "ok")
		got, err := src.Token(t.Context(), wire(t, "bad.test"))
		failed, ok := errors.AsType[*auth.SourceError](err)
		if !ok || !got.IsZero() || !errors.Is(err, auth.ErrInvalidToken) {
			t.Fatalf("%q: %q, %v", value, got.Reveal(), err)
		}
		if failed.Host != svchost.MustParse("bad.test") || failed.Source != "environment" {
			t.Errorf("%q: the error names %s and %s", value, failed.Host, failed.Source)
		}
		for _, part := range []string{"bad.test", "environment", `"TF_TOKEN_bad_test"`, "invalid token"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: the error lacks %q: %v", value, part, err)
			}
		}
		if leaks(err.Error()) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}

// FuzzEnviron checks that names do not panic, do not change the token of another host, and
// do not depend on the order of the variables.
func FuzzEnviron(f *testing.F) {
	for _, name := range []string{
		"example_com", "my__registry_test", "xn____caf__dma_fr", "XN--CAF-DMA_FR", "café_fr", "a___b", "____", "_", "a_", "_a",
		"example_com:8080", "example_com:-1", "ｘｎ－－caf__dma_fr", "foo。xn____caf__dma_fr", "\u00ad_com", "[::1]", "a=b", "\xff", "",
	} {
		f.Add(name, "value")
	}
	other := svchost.MustParse("untouched.test")
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.Contains(name, "=") {
			return // not the name of a variable
		}
		environ := []string{"TF_TOKEN_untouched_test=mine", "TF_TOKEN_" + name + "=" + value}
		src := auth.Environ(environ)
		host, err := svchost.FromWire(strings.ReplaceAll(strings.ReplaceAll(name, "__", "-"), "_", "."))
		if err == nil && host == other {
			return
		}
		if tok, err := src.Token(t.Context(), other); tok.Reveal() != "mine" || err != nil {
			t.Fatalf("%q changed the token of another host: %v", name, err)
		}
		if err != nil {
			return
		}
		tok, err := src.Token(t.Context(), host)
		legal, legalErr := auth.NewToken(value)
		switch {
		case value == "" && (err != nil || !tok.IsZero()):
			t.Fatalf("an empty value gave %v, %v", tok.IsZero(), err)
		case value != "" && legalErr != nil && !errors.Is(err, auth.ErrInvalidToken):
			t.Fatalf("an illegal value gave %v", err)
		case legalErr == nil && (err != nil || !tok.Equal(legal)):
			t.Fatalf("token of %s: %v", host, err)
		}
		slices.Reverse(environ)
		again, errAgain := auth.Environ(environ).Token(t.Context(), host)
		if !again.Equal(tok) || (err == nil) != (errAgain == nil) {
			t.Fatalf("the order of the environment matters for %q", name)
		}
	})
}
