package addrs_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "versions.txt") {
		v, err := addrs.ParseVersion(in)
		plain, _, _ := strings.Cut(want, "+")
		if err != nil || v.String() != want || v.IsPrerelease() != strings.Contains(plain, "-") {
			t.Errorf("ParseVersion(%q) = %q, a prerelease %t, %v; want %q", in, v, v.IsPrerelease(), err, want)
		}
		checkText(t, v)
		if again := addrs.MustParseVersion(v.String()); again != v {
			t.Errorf("ParseVersion(%q) != ParseVersion(%q)", v, in)
		}
	}
	if z := (addrs.Version{}); !z.IsZero() || z.IsPrerelease() || z == addrs.MustParseVersion("0.0.0") {
		t.Error("the zero Version must be zero and differ from 0.0.0")
	}
}

func TestParseVersionRefuses(t *testing.T) {
	t.Parallel()
	check := func(in, reason, suggestion string) {
		t.Helper()
		got, err := addrs.ParseVersion(in)
		pe := checkRefused(t, err, "provider version", in, reason)
		if !got.IsZero() || pe.Suggestion != suggestion {
			t.Errorf("ParseVersion(%q) = %q, suggestion %q; want %q", in, got, pe.Suggestion, suggestion)
		}
	}
	for in, reason := range casetest.Pairs(t, "versions-refused.txt") {
		check(in, reason, "")
	}
	for _, tt := range casetest.Read[struct{ In, Reason, Suggestion string }](t, "versions-suggested.txt") {
		check(tt.In, tt.Reason, tt.Suggestion)
	}
}

func TestParseModuleVersion(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "module-versions.txt") {
		v, err := addrs.ParseModuleVersion(in)
		if err != nil || v.String() != want || v.IsPrerelease() != strings.Contains(want, "-") {
			t.Errorf("ParseModuleVersion(%q) = %q, a prerelease %t, %v; want %q", in, v, v.IsPrerelease(), err, want)
		}
		checkText(t, v)
	}
	for _, in := range []string{"v1.2.3", "1.2.3", "1.2.3-beta.1+x"} {
		if m, p := addrs.MustParseModuleVersion(in), addrs.MustParseVersion(strings.TrimPrefix(in, "v")); m != p {
			t.Errorf("%q: %v of a module != %v of a provider", in, m, p)
		}
	}
	for in, reason := range casetest.Pairs(t, "module-versions-refused.txt") {
		_, err := addrs.ParseModuleVersion(in)
		checkRefused(t, err, "module version", in, reason)
	}
	for _, in := range []string{"1.0.0-", "1-", "1"} {
		v, err := addrs.ParseModuleVersion(in + strings.Repeat("a", 250))
		if err != nil || len(v.String()) != 256 {
			t.Errorf("ParseModuleVersion(%s…) = %q, %v; want 256 bytes", in, v, err)
		}
		checkText(t, v)
	}
}

func TestVersionCompare(t *testing.T) {
	t.Parallel()
	sorted := []addrs.Version{{}}
	for _, s := range []string{
		"0.0.0-a", "0.0.0", "0.0.1", "0.9.0",
		"1.0.0-1", "1.0.0-2", "1.0.0-010", "1.0.0-10", "1.0.0-10.a", "1.0.0-99999999999999999999999",
		"1.0.0--", "1.0.0-alpha", "1.0.0-alpha+x", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
		"1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.0.0", "1.0.0.0.0", "1.0.0+a", "1.0.0+b", "1.0.0.1-a", "1.0.0.1", "1.0.0.1.5",
		"1.0.0.2", "1.0.0.15", "1.0.1-a", "1.0.1", "1.2.0", "1.10.0", "2.0.0", "18446744073709551615.0.0",
	} {
		var v addrs.Version
		must.Do(t, v.UnmarshalText([]byte(s)))
		sorted = append(sorted, v)
	}
	checkOrder(t, sorted, addrs.Version.Compare)
}
