package auth_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

func lookup(t testing.TB, src auth.Source, host string) (string, error) {
	t.Helper()
	h, err := svchost.FromWire(host)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := src.Token(t.Context(), h)
	return tok.Reveal(), err
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
		if got, err := lookup(t, src, tt.host); got != secret || err != nil {
			t.Errorf("%s: token of %s = %q, %v", tt.name, tt.host, got, err)
		}
		if got, err := lookup(t, src, "elsewhere.test"); got != "" || err != nil {
			t.Errorf("%s: token of another host = %q, %v", tt.name, got, err)
		}
	}
}

func TestEnvironIgnores(t *testing.T) {
	t.Parallel()
	hosts := []string{"example.com", "example", "com", "a-b.test", "a.b.test", "a.test", "b.test"}
	for _, entry := range []string{
		"",
		"=",
		"=C:=C:\\dir",
		"TF_TOKEN_",
		"TF_TOKEN_=x",
		"TF_TOKEN=x",
		"TF_TOKEN_example_com",
		"TF_TOKEN_example_com=",
		"tf_token_example_com=x",
		"Tf_Token_example_com=x",
		"TF_TOKENexample_com=x",
		" TF_TOKEN_example_com=x",
		"MY_TF_TOKEN_example_com=x",
		"TF_TOKEN_example_com_=x",
		"TF_TOKEN__example_com=x",
		"TF_TOKEN_a___b_test=x", // "a-.b.test"
		"TF_TOKEN___example_com=x",
		"TF_TOKEN_https://example_com=x",
		"TF_TOKEN_example_com:0=x",
		"TF_TOKEN_example_com:=x",
		"TF_TOKEN_example_com:99999=x",
		"TF_TOKEN_example com=x",
		"TF_TOKEN_example_com\x00=x",
		"TF_TOKEN_\xff=x",
	} {
		src := auth.Environ([]string{entry})
		for _, host := range hosts {
			if got, err := lookup(t, src, host); got != "" || err != nil {
				t.Errorf("%q: token of %s = %q, %v", entry, host, got, err)
			}
		}
	}
	if tok, err := auth.Environ(nil).Token(t.Context(), svchost.Hostname{}); !tok.IsZero() || err != nil {
		t.Errorf("the zero hostname in no environment: %v, %v", tok, err)
	}
}

func TestEnvironValueWithEqualsSign(t *testing.T) {
	t.Parallel()
	src := auth.Environ([]string{"TF_TOKEN_example_com=YWJj=="})
	if got, err := lookup(t, src, "example.com"); got != "YWJj==" || err != nil {
		t.Errorf("token = %q, %v", got, err)
	}
}

func TestEnvironTwoVariablesForOneHost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environ []string
		want    string
	}{
		{[]string{"TF_TOKEN_my__host_test=encoded", "TF_TOKEN_my-host.test=literal"}, "encoded"},
		{[]string{"TF_TOKEN_EXAMPLE_COM=upper", "TF_TOKEN_example_com=lower", "TF_TOKEN_Example_com=mixed"}, "lower"},
		{[]string{"TF_TOKEN_example_com=underscore", "TF_TOKEN_example.com=dot"}, "underscore"},
		{[]string{"TF_TOKEN_EXAMPLE_com=set", "TF_TOKEN_example_com="}, "set"}, // an empty one is not set
	} {
		for range len(tt.environ) {
			tt.environ = append(tt.environ[1:], tt.environ[0])
			if got, err := lookup(t, auth.Environ(tt.environ), hostOf(tt.environ[0])); got != tt.want || err != nil {
				t.Errorf("%q: token = %q, %v, want %q", tt.environ, got, err, tt.want)
			}
		}
	}
	// The same name twice: as in a child process, the last one counts.
	twice := []string{"TF_TOKEN_example_com=first", "TF_TOKEN_example_com=last"}
	if got, err := lookup(t, auth.Environ(twice), "example.com"); got != "last" || err != nil {
		t.Errorf("%q: token = %q, %v", twice, got, err)
	}
	// That holds for an empty one, too: it takes the variable away, and no other.
	emptied := []string{"TF_TOKEN_example_com=first", "TF_TOKEN_example_com="}
	if got, err := lookup(t, auth.Environ(emptied), "example.com"); got != "" || err != nil {
		t.Errorf("%q: token = %q, %v", emptied, got, err)
	}
	emptied = append([]string{"TF_TOKEN_EXAMPLE_com=upper"}, emptied...)
	if got, err := lookup(t, auth.Environ(emptied), "example.com"); got != "upper" || err != nil {
		t.Errorf("%q: token = %q, %v", emptied, got, err)
	}
	refilled := []string{"TF_TOKEN_example_com=", "TF_TOKEN_example_com=last", "TF_TOKEN_example_com"} // the last one is no variable
	if got, err := lookup(t, auth.Environ(refilled), "example.com"); got != "last" || err != nil {
		t.Errorf("%q: token = %q, %v", refilled, got, err)
	}
	// What is wrong with a variable that does not count is no matter.
	loser := []string{"TF_TOKEN_EXAMPLE_COM=not legal", "TF_TOKEN_example_com=legal"}
	if got, err := lookup(t, auth.Environ(loser), "example.com"); got != "legal" || err != nil {
		t.Errorf("%q: token = %q, %v", loser, got, err)
	}
}

func hostOf(entry string) string {
	if strings.Contains(entry, "host") {
		return "my-host.test"
	}
	return "example.com"
}

func TestEnvironInvalidValue(t *testing.T) {
	t.Parallel()
	for _, value := range []string{secret + "\n", "Bearer " + secret, " " + secret, secret + "\x1b", secret + "ü", " "} {
		src := auth.Environ([]string{"TF_TOKEN_bad_test=" + value, "TF_TOKEN_good_test=ok"})
		if got, err := lookup(t, src, "good.test"); got != "ok" || err != nil {
			t.Errorf("%q spoils another host: %q, %v", value, got, err)
		}
		got, err := lookup(t, src, "bad.test")
		var failed *auth.SourceError
		if got != "" || !errors.As(err, &failed) || !errors.Is(err, auth.ErrInvalidToken) {
			t.Fatalf("%q: %q, %v", value, got, err)
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

func TestEnvironIsDecodedOnce(t *testing.T) {
	t.Parallel()
	environ := []string{"TF_TOKEN_example_com=before"}
	src := auth.Environ(environ)
	environ[0] = "TF_TOKEN_example_com=after"
	if got, err := lookup(t, src, "example.com"); got != "before" || err != nil {
		t.Errorf("token = %q, %v", got, err)
	}
}

// FuzzEnviron looks for names that panic, that give another host a token, or
// that depend on the order of the environment.
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

func BenchmarkEnviron(b *testing.B) {
	for _, size := range []int{10, 1000} {
		environ := []string{"TF_TOKEN_example_com=" + secret}
		for i := range size {
			environ = append(environ, fmt.Sprintf("TF_TOKEN_host%d_test=x", i))
		}
		src := auth.Environ(environ)
		host := svchost.MustParse("example.com")
		b.Run(fmt.Sprintf("lookup among %d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := src.Token(b.Context(), host); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
