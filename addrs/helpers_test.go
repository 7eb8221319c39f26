package addrs_test

import (
	"encoding"
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// checkRefused checks an error of a parser.
func checkRefused(t *testing.T, err error, kind, input, reason string) *addrs.ParseError {
	t.Helper()
	var pe *addrs.ParseError
	if !errors.As(err, &pe) {
		t.Errorf("%s %q: error %v, want a ParseError", kind, input, err)
		return &addrs.ParseError{}
	}
	if pe.Kind != kind || !strings.Contains(pe.Reason, reason) {
		t.Errorf("%s %q: kind %q, reason %q; want %q in it", kind, input, pe.Kind, pe.Reason, reason)
	}
	checkPrintable(t, err)
	return pe
}

// noPanic reports whether f, which parses text as the CLI does, returns a value without an error or a panic.
func noPanic[T any](f func(string) (T, error), text string) (v T, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	v, err := f(text)
	return v, err == nil
}

// checkPrintable checks that an error can be printed to a terminal.
func checkPrintable(t *testing.T, err error) {
	t.Helper()
	msg := err.Error()
	if strings.ContainsAny(msg, "\n\r\x00\x1b\u202e") || len(msg) > 2000 {
		t.Errorf("unfit for a terminal: %q", msg)
	}
}

// wire is a hostname that svchost refuses in addresses, but not in answers.
func wire(t *testing.T) svchost.Hostname {
	t.Helper()
	return must.Get(svchost.FromWire("my_mirror.example"))(t)
}

// checkText checks that unmarshalling the text of v gives v.
func checkText[T interface {
	comparable
	encoding.TextMarshaler
	String() string
}, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, v T) {
	t.Helper()
	b, err := v.MarshalText()
	if err != nil || string(b) != v.String() {
		t.Errorf("MarshalText of %v: %q, %v", v, b, err)
	}
	var back T
	if err := P(&back).UnmarshalText(b); err != nil || back != v {
		t.Errorf("UnmarshalText(%q) = %v, %v; want %v", b, back, err, v)
	}
}

// checkTextErrors checks that UnmarshalText keeps the value on an error, and clears it for
// empty text.
func checkTextErrors[T interface {
	comparable
	IsZero() bool
}, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, v T) {
	t.Helper()
	was := v
	err := P(&v).UnmarshalText([]byte("\x00"))
	if pe := (*addrs.ParseError)(nil); !errors.As(err, &pe) || v != was {
		t.Errorf("%T: UnmarshalText of nonsense: %v, %v", v, v, err)
	}
	if err := P(&v).UnmarshalText(nil); err != nil || !v.IsZero() {
		t.Errorf("%T: UnmarshalText of nothing: %v, %v", v, v, err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	checkText(t, addrs.Provider{})
	checkText(t, addrs.MustParseProvider("böb.example.com:8443/acme/über"))
	checkText(t, addrs.MustParseProvider("-/aws"))
	checkText(t, addrs.Version{})
	checkText(t, addrs.MustParseVersion("0.0.0"))
	checkText(t, addrs.MustParseVersion("1.0.0-a..b+c"))
	checkText(t, addrs.MustParseModuleVersion("v1.2.3.4beta~1+x"))
	checkText(t, addrs.Platform{})
	checkText(t, addrs.MustParsePlatform("linux_amd64"))
	checkText(t, addrs.ProviderConstraint{})
	checkText(t, addrs.ModuleConstraint{})
	checkText(t, addrs.MustParseModuleConstraint("~> 1, != 1.5"))
	checkText(t, addrs.MustParseProviderConstraint("~> 1.0, != 1.5"))
	checkText(t, addrs.Module{})
	checkText(t, addrs.MustParseModule("example.com/A/b/c"))
	checkText(t, addrs.ModuleSource{})
	checkText(t, addrs.MustParseModuleSource("example.com/A/b/c//d/e"))

	checkTextErrors(t, addrs.MustParseProvider("hashicorp/aws"))
	checkTextErrors(t, addrs.MustParseVersion("1.0.0"))
	checkTextErrors(t, addrs.MustParsePlatform("linux_amd64"))
	checkTextErrors(t, addrs.MustParseProviderConstraint("1.0.0"))
	checkTextErrors(t, addrs.MustParseModuleConstraint("1.0.0"))
	checkTextErrors(t, addrs.MustParseModule("a/b/c"))
	checkTextErrors(t, addrs.MustParseModuleSource("a/b/c//d"))
}

func TestParseErrorKeepsSecrets(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, in := range []string{
		"https://user:s3cret@example.com/a/b/c", "git::https://s3cret@example.com/x.git?token=s3cret",
		"user:s3cret@example.com/acme/alpha", "example.com/acme/alpha?token=s3cret",
	} {
		for _, v := range []encoding.TextUnmarshaler{
			new(addrs.Provider), new(addrs.Module), new(addrs.ModuleSource), new(addrs.Version), new(addrs.ProviderConstraint), new(addrs.ModuleConstraint),
		} {
			err := v.UnmarshalText([]byte(in))
			pe, ok := errors.AsType[*addrs.ParseError](err)
			if !ok || strings.Contains(err.Error(), secret) || strings.Contains(pe.Input+pe.Reason, secret) {
				t.Errorf("UnmarshalText(%q) of a %T: %v; want a ParseError without the secret", in, v, err)
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	for _, tt := range []struct {
		in    string
		parse func(string)
		want  float64
	}{
		{"hashicorp/aws", func(s string) { addrs.MustParseProvider(s) }, 0},
		{"aws", func(s string) { addrs.MustParseProvider(s) }, 0},
		{"registry.example.com/acme/alpha", func(s string) { addrs.MustParseProvider(s) }, 0},
		{"registry.example.com:8443/acme/alpha", func(s string) { addrs.MustParseProvider(s) }, 0},
		{"HashiCorp/AWS", func(s string) { addrs.MustParseProvider(s) }, 2},
		{"1.2.3", func(s string) { addrs.MustParseVersion(s) }, 0},
		{"4.67", func(s string) { addrs.MustParseVersion(s) }, 0},
		{"1.2.3-beta.1", func(s string) { addrs.MustParseVersion(s) }, 1},
		{"linux_amd64", func(s string) { addrs.MustParsePlatform(s) }, 0},
	} {
		if got := testing.AllocsPerRun(100, func() { tt.parse(tt.in) }); got > tt.want {
			t.Errorf("parsing %q: %v allocations, want at most %v", tt.in, got, tt.want)
		}
	}
}
