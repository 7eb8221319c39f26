package addrs_test

import (
	"encoding"
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
)

// checkRefused checks an error of any parser of the package.
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

// checkPrintable checks that an error can go to a terminal.
func checkPrintable(t *testing.T, err error) {
	t.Helper()
	msg := err.Error()
	if strings.ContainsAny(msg, "\n\r\x00\x1b\u202e") || len(msg) > 2000 {
		t.Errorf("unfit for a terminal: %q", msg)
	}
}

// checkText marshals v, unmarshals the result into a new value and compares.
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

// checkTextErrors checks that UnmarshalText keeps the value on an error and clears it for
// the empty text.
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

func TestMustPanics(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"MustParseProvider":           func() { addrs.MustParseProvider("") },
		"MustParseVersion":            func() { addrs.MustParseVersion("") },
		"MustParseModuleVersion":      func() { addrs.MustParseModuleVersion("") },
		"MustParsePlatform":           func() { addrs.MustParsePlatform("") },
		"MustParseProviderConstraint": func() { addrs.MustParseProviderConstraint("?") },
		"MustParseModuleConstraint":   func() { addrs.MustParseModuleConstraint("?") },
		"MustParseModule":             func() { addrs.MustParseModule("") },
		"MustParseModuleSource":       func() { addrs.MustParseModuleSource("") },
	} {
		func() {
			defer func() {
				if _, ok := recover().(error); !ok {
					t.Errorf("%s: no panic with an error", name)
				}
			}()
			f()
		}()
	}
}

func TestParseErrorKeepsSecrets(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, in := range []string{
		"https://user:s3cret@example.com/a/b/c", "git::https://s3cret@example.com/x.git?token=s3cret",
		"user:s3cret@example.com/acme/alpha", "example.com/acme/alpha?token=s3cret",
	} {
		_, err1 := addrs.ParseProvider(in)
		_, err2 := addrs.ParseModule(in)
		_, err3 := addrs.ParseModuleSource(in)
		_, err4 := addrs.ParseVersion(in)
		_, err5 := addrs.ParseModuleVersion(in)
		_, err6 := addrs.ParseProviderConstraint(in)
		_, err7 := addrs.ParseModuleConstraint(in)
		for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
			var pe *addrs.ParseError
			if !errors.As(err, &pe) || strings.Contains(err.Error(), secret) || strings.Contains(pe.Input+pe.Reason, secret) {
				t.Errorf("%q: %v", in, err)
			}
		}
	}
}
