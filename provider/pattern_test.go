package provider_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	var zero provider.Pattern
	if zero.String() != "" || zero.Matches(addrs.MustParseProvider("acme/alpha")) || zero.Matches(addrs.Provider{}) {
		t.Errorf("the zero Pattern is %q", zero)
	}
	for _, test := range casetest.Read[struct {
		In, Text   string
		Yes, Other []string
	}](t, "patterns.txt") {
		p, err := provider.ParsePattern(test.In)
		if err != nil {
			t.Errorf("ParsePattern(%q) returned %v, want no error", test.In, err)
			continue
		}
		if p.String() != test.Text || p != provider.MustParsePattern(test.Text) {
			t.Errorf("%s became %s, want %s", test.In, p, test.Text)
		}
		for _, s := range test.Yes {
			if !p.Matches(addrs.MustParseProvider(s)) {
				t.Errorf("%s does not match %s", test.In, s)
			}
		}
		for _, s := range test.Other {
			if p.Matches(addrs.MustParseProvider(s)) {
				t.Errorf("%s matches %s, want no match", test.In, s)
			}
		}
		if p.Matches(addrs.Provider{}) {
			t.Errorf("%s matches no provider", test.In)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	t.Parallel()
	for in, reason := range casetest.Pairs(t, "patterns-refused.txt") {
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
