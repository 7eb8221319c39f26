package auth_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/must"
)

// wire parses a hostname as it is written in a variable.
func wire(t testing.TB, name string) svchost.Hostname {
	t.Helper()
	host := must.Get(svchost.FromWire(name))(t)
	return host
}

func TestEnvironNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, host string }{
		{"TF_TOKEN_example_com", "example.com"},
		{"TF_TOKEN_registry_example_com", "registry.example.com"},
		{"TF_TOKEN_example.com", "example.com"},
		{"TF_TOKEN_EXAMPLE_COM", "example.com"},
		{"TF_TOKEN_localhost", "localhost"},
		{"TF_TOKEN_127_0_0_1", "127.0.0.1"},
		// A pair of underscores is a hyphen.
		{"TF_TOKEN_my__registry_test", "my-registry.test"},
		{"TF_TOKEN_my-registry_test", "my-registry.test"},
		{"TF_TOKEN_a____b_test", "a--b.test"},
		{"TF_TOKEN_a__b__c_test", "a-b-c.test"},
		// International names, in either form and any case.
		{"TF_TOKEN_xn____caf__dma_fr", "xn--caf-dma.fr"},
		{"TF_TOKEN_XN--CAF-DMA_FR", "xn--caf-dma.fr"},
		{"TF_TOKEN_xn--caf-dma.fr", "xn--caf-dma.fr"},
		{"TF_TOKEN_café_fr", "xn--caf-dma.fr"},
		{"TF_TOKEN_CAFÉ_fr", "xn--caf-dma.fr"},
		// A port needs a literal colon.
		{"TF_TOKEN_example_com:8080", "example.com:8080"},
		{"TF_TOKEN_example_com:443", "example.com"},
		{"TF_TOKEN_example_com_8080", "example.com.8080"},
	} {
		src := auth.Environ([]string{"PATH=/bin", tt.name + "=" + secret, "TF_TOKEN_other_test=x"})
		want(t, src, wire(t, tt.host), secret)
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
	for _, tt := range []struct {
		want    string
		environ []string // in any order
	}{
		{"encoded", []string{"TF_TOKEN_my__host_test=encoded", "TF_TOKEN_my-host.test=literal"}},
		{"lower", []string{"TF_TOKEN_MY-HOST_TEST=upper", "TF_TOKEN_my-host_test=lower", "TF_TOKEN_My-host_test=mixed"}},
		{"underscore", []string{"TF_TOKEN_my-host_test=underscore", "TF_TOKEN_my-host.test=dot"}},
		{"set", []string{"TF_TOKEN_MY-HOST_test=set", "TF_TOKEN_my-host_test="}}, // an empty variable is not set
		{"legal", []string{"TF_TOKEN_MY-HOST_TEST=not legal", "TF_TOKEN_my-host_test=legal"}},
		{"YWJj==", []string{"TF_TOKEN_my-host_test=YWJj=="}},
	} {
		for range tt.environ {
			tt.environ = append(tt.environ[1:], tt.environ[0])
			want(t, auth.Environ(tt.environ), wire(t, "my-host.test"), tt.want)
		}
	}
	// The last value of a name counts, also if it is empty.
	for _, tt := range []struct {
		want    string
		environ []string
	}{
		{"last", []string{"TF_TOKEN_a_test=first", "TF_TOKEN_a_test=last"}},
		{"", []string{"TF_TOKEN_a_test=first", "TF_TOKEN_a_test="}},
		{"upper", []string{"TF_TOKEN_A_TEST=upper", "TF_TOKEN_a_test=first", "TF_TOKEN_a_test="}},
		{"last", []string{"TF_TOKEN_a_test=", "TF_TOKEN_a_test=last", "TF_TOKEN_a_test"}}, // an entry without "=" is ignored
	} {
		want(t, auth.Environ(tt.environ), hostA, tt.want)
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
