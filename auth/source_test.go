package auth_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
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
	src.(auth.Invalidator).Invalidate(hostA)
	for i, v := range []*vault{one, two} {
		if len(v.invalidated) != 1 || v.invalidated[0] != hostA {
			t.Errorf("source %d: Invalidate was called for %v", i, v.invalidated)
		}
	}
}
