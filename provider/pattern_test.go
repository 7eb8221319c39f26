package provider_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	var zero provider.Pattern
	if zero.String() != "" || zero.Matches(addrs.MustParseProvider("acme/alpha")) || zero.Matches(addrs.Provider{}) {
		t.Errorf("the zero Pattern is %q", zero)
	}
	for _, test := range []struct {
		in, text   string
		yes, other []string // providers that it selects, and others
	}{
		{"acme/alpha", "registry.opentofu.org/acme/alpha", []string{"acme/alpha", "ACME/Alpha"}, []string{"acme/beta", "example.com/acme/alpha"}},
		{"example.com/acme/alpha", "example.com/acme/alpha", []string{"example.com/acme/alpha"}, []string{"example.com:8080/acme/alpha", "acme/alpha"}},
		{"Example.COM:443/ACME/*", "example.com/acme/*", []string{"example.com/acme/alpha", "example.com/acme/x"}, []string{"example.com/other/alpha", "acme/alpha"}},
		{"example.com:8080/*/*", "example.com:8080/*/*", []string{"example.com:8080/acme/alpha"}, []string{"example.com/acme/alpha"}},
		{"acme/*", "registry.opentofu.org/acme/*", []string{"acme/alpha"}, []string{"example.com/acme/alpha", "hashicorp/aws"}},
		{"a_b/*", "registry.opentofu.org/a_b/*", []string{"a_b/alpha"}, []string{"acme/alpha"}},
		{"*/*", "registry.opentofu.org/*/*", []string{"acme/alpha", "hashicorp/aws"}, []string{"example.com/acme/alpha"}},
		{"*/*/*", "*/*/*", []string{"acme/alpha", "example.com:8080/acme/alpha"}, nil},
		{"BÖB.example.com/*/*", "böb.example.com/*/*", []string{"böb.example.com/acme/alpha"}, []string{"bob.example.com/acme/alpha"}},
		{"example.com/x/x", "example.com/x/x", []string{"example.com/x/x"}, []string{"example.com/x/y"}},
		{"example.com/x/*", "example.com/x/*", []string{"example.com/x/y"}, []string{"example.com/y/x"}},
	} {
		p, err := provider.ParsePattern(test.in)
		if err != nil {
			t.Errorf("ParsePattern(%q) returned %v, want no error", test.in, err)
			continue
		}
		if p.String() != test.text || p != provider.MustParsePattern(test.text) {
			t.Errorf("%s became %s, want %s", test.in, p, test.text)
		}
		for _, s := range test.yes {
			if !p.Matches(addrs.MustParseProvider(s)) {
				t.Errorf("%s does not match %s", test.in, s)
			}
		}
		for _, s := range test.other {
			if p.Matches(addrs.MustParseProvider(s)) {
				t.Errorf("%s matches %s, want no match", test.in, s)
			}
		}
		if p.Matches(addrs.Provider{}) {
			t.Errorf("%s matches no provider", test.in)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	t.Parallel()
	for in, reason := range map[string]string{
		"":                                     "NAMESPACE/TYPE",
		"*":                                    "NAMESPACE/TYPE",
		"alpha":                                "NAMESPACE/TYPE",
		"a/b/c/d":                              "NAMESPACE/TYPE",
		"*/alpha":                              "the parts after a star must be stars",
		"example.com/*/alpha":                  "the parts after a star must be stars",
		"*/acme/alpha":                         "the parts after a star must be stars",
		"*/acme/*":                             "the parts after a star must be stars",
		"*/*/alpha":                            "the parts after a star must be stars",
		"acme/al*":                             "in the type",
		"ac*/*":                                "in the namespace",
		"*.example.com/*/*":                    "in the hostname",
		"acme/":                                "in the type",
		"/*":                                   "in the namespace",
		"//*":                                  "in the hostname",
		"xn--bb-fka.example.com/*/*":           "punycode",
		"example.com/../*":                     "in the namespace",
		"hashicorp/terraform-provider-aws":     `did you mean "hashicorp/aws"`,
		"registry.opentofu.org/-/aws":          "cannot be installed",
		"-/*":                                  "cannot be installed",
		strings.Repeat("x", 5000):              "too long",
		"https://user:hunter2@example.com/*/*": "NAMESPACE/TYPE",
		"example.com/acme/alpha?token=hunter2": "in the type",
		"example.com/\x1b[31macme/alpha":       "in the namespace",
	} {
		_, err := provider.ParsePattern(in)
		e, ok := errors.AsType[*addrs.ParseError](err)
		if !ok || e.Kind != "provider pattern" {
			t.Errorf("ParsePattern(%.40q) returned %T %v, want an *addrs.ParseError", in, err, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, reason) || strings.Contains(text, "hunter2") || strings.Contains(text, "\x1b") || len(text) > 500 {
			t.Errorf("%.40q: %s, want %q in it", in, text, reason)
		}
	}
}

func TestPatternText(t *testing.T) {
	t.Parallel()
	type config struct {
		Include []provider.Pattern `json:"include"`
		Exclude provider.Pattern   `json:"exclude"`
	}
	var c config
	must.Do(t, json.Unmarshal([]byte(`{"include":["acme/*","*/*/*"],"exclude":""}`), &c))
	data, err := json.Marshal(c)
	if want := `{"include":["registry.opentofu.org/acme/*","*/*/*"],"exclude":""}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
	before := c.Include[0]
	if err := c.Include[0].UnmarshalText([]byte("*")); err == nil || c.Include[0] != before {
		t.Errorf("after an error it is %v, %v", c.Include[0], err)
	}
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"acme/alpha", "example.com:8080/*/*", "*/*/*", "*/*", "böb.example.com/acme/*", "*", "x/*/*", "-/*", "*/x"} {
		f.Add(seed, "acme/alpha")
	}
	f.Fuzz(func(t *testing.T, text, address string) {
		p, err := provider.ParsePattern(text)
		if err != nil {
			if _, ok := errors.AsType[*addrs.ParseError](err); !ok || p != (provider.Pattern{}) {
				t.Errorf("Unmarshal returned %v, %T %v, want an *addrs.ParseError", p, err, err)
			}
			return
		}
		if again, err := provider.ParsePattern(p.String()); err != nil || again != p {
			t.Errorf("%q became %q, %v", p, again, err)
		}
		a, err := addrs.ParseProvider(address)
		if err != nil {
			return
		}
		exact, err := provider.ParsePattern(a.String())
		if err == nil && !exact.Matches(a) {
			t.Errorf("%s does not match itself", a)
		}
		if !strings.Contains(p.String(), "*") && p.Matches(a) != (p == exact) {
			t.Errorf("%s matches %s: %t", p, a, p.Matches(a))
		}
	})
}
