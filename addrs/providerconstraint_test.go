package addrs_test

import (
	"strings"
	"testing"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

// candidates are versions for the tests of constraints.
var candidates = []string{
	"0.0.0", "0.0.1", "0.9.0", "1.0.0-alpha", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta+meta", "1.0.0", "1.0.0+meta", "1.0.1", "1.0.1-rc1",
	"1.1.0-beta", "1.1.0", "1.2.0", "1.2.3", "1.2.4", "1.3.0-beta", "1.3.0", "1.9.9", "1.10.0", "2.0.0-beta1", "2.0.0", "2.0.0+meta", "2.1.0", "3.0.0",
	"18446744073709551615.0.0", "0.0.18446744073709551615", "1.0.0--", "1.0.0-a..b",
}

func TestParseProviderConstraint(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "provider-constraints.txt") {
		c, err := addrs.ParseProviderConstraint(in)
		if err != nil || c.String() != want {
			t.Errorf("ParseProviderConstraint(%q) = %q, %v; want %q", in, c, err, want)
			continue
		}
		if c.IsZero() != (want == "") {
			t.Errorf("ParseProviderConstraint(%q): IsZero %v", in, c.IsZero())
		}
		checkText(t, c)
		checkAsProvider(t, in, c)
	}
}

// checkAsProvider compares c with the CLI's library for the text.
func checkAsProvider(t *testing.T, text string, c addrs.ProviderConstraint) {
	t.Helper()
	spec, err := constraints.ParseRubyStyleMulti(text)
	if err != nil {
		t.Errorf("the engine refuses %q: %v", text, err)
		return
	}
	set := versions.MeetingConstraints(spec)
	match := c.Matcher()
	for _, s := range candidates {
		v, want := addrs.MustParseVersion(s), set.Has(versions.MustParseVersion(s))
		if match(v) != want || c.Allows(v) != want {
			t.Errorf("%q, version %s: Matcher %v, Allows %v; the engine %v", text, s, match(v), c.Allows(v), want)
		}
	}
}

func TestParseProviderConstraintRefuses(t *testing.T) {
	t.Parallel()
	for in, reason := range casetest.Pairs(t, "provider-constraints-refused.txt") {
		c, err := addrs.ParseProviderConstraint(in)
		checkRefused(t, err, "provider version constraint", in, reason)
		if !c.IsZero() {
			t.Errorf("ParseProviderConstraint(%q) = %q", in, c)
		}
	}
	if _, err := addrs.ParseProviderConstraint(strings.Repeat("1,", 2048)); err != nil {
		t.Error(err)
	}
}

func TestProviderConstraintZero(t *testing.T) {
	t.Parallel()
	var c addrs.ProviderConstraint
	for s, want := range map[string]bool{"1.0.0": true, "0.0.1": true, "1.0.0+x": true, "1.2.3.4": true, "0.0.0": false, "1.0.0-a": false} {
		if got := c.Allows(addrs.MustParseModuleVersion(s)); got != want {
			t.Errorf("the zero ProviderConstraint allows %s: %v", s, got)
		}
	}
	if c.Allows(addrs.Version{}) || addrs.MustParseProviderConstraint(">= 0").Allows(addrs.Version{}) {
		t.Error("the zero Version is allowed")
	}
	if !c.IsZero() || c.String() != "" || c.And(c) != c {
		t.Error("the zero ProviderConstraint is not zero")
	}
}

func TestProviderConstraintAnd(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct{ A, B, Want string }](t, "provider-constraints-both.txt") {
		a, b := addrs.MustParseProviderConstraint(tt.A), addrs.MustParseProviderConstraint(tt.B)
		for _, c := range []addrs.ProviderConstraint{a.And(b), b.And(a)} {
			if c.String() != tt.Want || c != addrs.MustParseProviderConstraint(tt.Want) {
				t.Errorf("%q and %q: %q, want %q", tt.A, tt.B, c, tt.Want)
			}
			checkAsProvider(t, strings.TrimPrefix(tt.A+","+tt.B, ","), c)
		}
	}
}

func TestExactProviderConstraint(t *testing.T) {
	t.Parallel()
	for _, s := range candidates {
		v := addrs.MustParseVersion(s)
		match := addrs.ExactProviderConstraint(v).Matcher()
		for _, o := range candidates {
			if got, want := match(addrs.MustParseVersion(o)), o == s && s != "0.0.0"; got != want {
				t.Errorf("ExactProviderConstraint(%s) allows %s: %v", s, o, got)
			}
		}
	}
	for _, v := range []addrs.Version{{}, addrs.MustParseModuleVersion("1.2.3.4"), addrs.MustParseModuleVersion("1.2.3~a")} {
		c := addrs.ExactProviderConstraint(v)
		if c.IsZero() || c.Allows(v) || c.Allows(addrs.MustParseVersion("1.2.3")) {
			t.Errorf("ExactProviderConstraint(%q) = %q, which allows something", v, c)
		}
		checkText(t, c)
	}
}

func FuzzParseProviderConstraint(f *testing.F) {
	for in := range casetest.Pairs(f, "provider-constraints.txt") {
		f.Add(in, "1.0.0-beta")
	}
	seeds := []string{">=", "^1", "1,,2", ">= 18446744073709551616", "1.*", "v1"}
	for i, s := range candidates {
		f.Add(seeds[i%len(seeds)], s)
	}
	f.Fuzz(func(t *testing.T, s, candidate string) {
		c, err := addrs.ParseProviderConstraint(s)
		spec, engineOK := noPanic(constraints.ParseRubyStyleMulti, s) // which panics at large numbers
		if (err == nil) != engineOK && len(s) <= 4096 {
			t.Fatalf("ParseProviderConstraint(%q) = %q, %v; the engine %v", s, c, err, engineOK)
		}
		if err != nil {
			checkPrintable(t, err)
			return
		}
		if len(c.String()) <= 4096 {
			checkText(t, c)
		}
		if both := c.And(c); both != c {
			t.Fatalf("%q and itself: %q", c, both)
		}
		set := versions.MeetingConstraints(spec)
		match := c.Matcher()
		for _, s2 := range append([]string{candidate}, candidates...) {
			v, err := addrs.ParseVersion(s2)
			if err != nil {
				continue
			}
			if got, want := match(v), set.Has(versions.MustParseVersion(s2)); got != want {
				t.Fatalf("%q, canonical %q, version %s: %v; the engine %v", s, c, v, got, want)
			}
		}
	})
}
