package addrs_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 250)
	for in, want := range map[string]string{
		"1.2.3": "1.2.3", "0.0.0": "0.0.0", "1": "1.0.0", "1.2": "1.2.0", "01.002.3": "1.2.3", "1.": "1.0.0", "1.2.3.": "1.2.3",
		"1.2.3-beta.1+build.5": "1.2.3-beta.1+build.5", "1.2.3+build-5": "1.2.3+build-5", "1-a": "1.0.0-a",
		"1.0.0-": "1.0.0", "1.0.0+": "1.0.0", "1.0.0-a+": "1.0.0-a", "1.0.0-a..b": "1.0.0-a..b", "1.0.0--": "1.0.0--",
		"1.0.0-20240101000000000000000000": "1.0.0-20240101000000000000000000",
		"18446744073709551615.0.0":         "18446744073709551615.0.0",
		"000000000000000000000000001.0.0":  "1.0.0",
		"1.0.0-" + long:                    "1.0.0-" + long,
	} {
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
	for reason, list := range map[string][]string{
		"empty":         {"", " "},
		`"v"`:           {"v"},
		"three numbers": {"1.2.3.4"},
		"numbers":       {"1..2", ".1", "1.a", "1.x", "-1.0.0", "+1.0.0"},
		"constraint":    {"*", ">= 1.0", "~> 1.0", "=1"},
		"prerelease": {
			"1.0.0beta", "1.0.0-a_b", "1.0.0-ä", "1.0.0-a~b", "1.0.0-+x", "1.0.0+a+b", "1.0.0+a+", "1.0.0-a b", "1.0.0-a\x1b[31m", "1.0.0, 2.0.0",
		},
		"2^64-1":   {"18446744073709551616.0.0", "1.0.99999999999999999999999999", strings.Repeat("9", 250)},
		"too long": {"1.0.0-" + strings.Repeat("a", 251), "v" + strings.Repeat("9", 5000), "0-" + strings.Repeat("a", 251)},
	} {
		for _, in := range list {
			check(in, reason, "")
		}
	}
	for _, tt := range []struct{ in, reason, suggestion string }{
		{"v1.2.3", `"v"`, "1.2.3"},
		{"V1.2", `"v"`, "1.2.0"},
		{" 1.2.3", "spaces", "1.2.3"},
		{"1.2.3\n", "spaces", "1.2.3"},
	} {
		check(tt.in, tt.reason, tt.suggestion)
	}
}

func TestParseModuleVersion(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1.2.3": "1.2.3", "v1.2.3": "1.2.3", "0.10": "0.10.0", "v1": "1.0.0", "1.2.3.4": "1.2.3.4", "1.2.3.04.5": "1.2.3.4.5",
		"1.2.3.4-beta+x": "1.2.3.4-beta+x", "1.0.0beta": "1.0.0-beta", "1.0.0-beta.1": "1.0.0-beta.1", "1.0.0~a": "1.0.0-~a",
		"1.0.0-": "1.0.0--", "9223372036854775807.0.0": "9223372036854775807.0.0",
	} {
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
	for in, reason := range map[string]string{
		"": "", "v": "", "V1": "", "vv1": "", "1.": "", "1..2": "", " 1": "", "1\n": "", "1.0.0-a..b": "", "1.0.0+": "",
		"1.0-a_b": "", "beta": "", "1.0.0.beta": "",
		"9223372036854775808": "2^63-1", "0.9223372036854775808": "2^63-1", "0.0.9223372036854775808": "2^63-1", "1.2.3.99999999999999999999": "2^63-1",
		strings.Repeat("1", 257):        "too long",
		"0a" + strings.Repeat("0", 250): "too long", // as 0.0.0-a…
	} {
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
