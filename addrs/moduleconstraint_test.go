package addrs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/apparentlymart/go-versions/versions"
	goversion "github.com/hashicorp/go-version"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

var moduleCandidates = []string{
	"0.0.0", "0.0.1", "0.10", "v1.0.0-alpha", "1.0.0-beta", "1.0.0-beta+meta", "1.0.0-v1", "1.0.0beta2", "1.0.0--", "1.0.0~a", "v1.0.0", "1.0.0+meta",
	"1.0.0.0", "1.0.0.1", "1.0.0.1-beta", "1.0.1", "1.2", "1.2.3", "1.2.3.4", "1.2.3.5", "1.2.4", "1.3.0-beta", "1.3.0", "1.10.0", "2.0.0-beta1", "2.0.0", "2.1",
	"9223372036854775807.0.0",
}

func TestParseModuleConstraint(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "module-constraints.txt") {
		c, err := addrs.ParseModuleConstraint(in)
		if err != nil || c.String() != want {
			t.Errorf("ParseModuleConstraint(%q) = %q, %v; want %q", in, c, err, want)
			continue
		}
		if again, err := addrs.ParseModuleConstraint(c.String()); again != c {
			t.Errorf("ParseModuleConstraint(%q) = %q, %v; want %q", c, again, err, c)
		}
		checkAsModule(t, in, c, moduleCandidates)
	}
	for _, blank := range []string{"", " \t"} {
		if c, err := addrs.ParseModuleConstraint(blank); err != nil || !c.IsZero() || c.String() != "" {
			t.Errorf("ParseModuleConstraint(%q) = %q, %v", blank, c, err)
		}
	}
}

// TestModuleConstraintBlank checks that blank text allows all releases, including 0.0.0.
func TestModuleConstraintBlank(t *testing.T) {
	t.Parallel()
	var blank addrs.ModuleConstraint
	every := addrs.MustParseModuleConstraint(">= 0")
	for _, s := range moduleCandidates {
		v := addrs.MustParseModuleVersion(s)
		if got, want := blank.Allows(v), every.Allows(v); got != want {
			t.Errorf("version %s: %v, want %v", v, got, want)
		}
	}
	zero := addrs.MustParseVersion("0.0.0")
	if !blank.Allows(zero) || (addrs.ProviderConstraint{}).Allows(zero) || blank.Allows(addrs.Version{}) || every.Allows(addrs.Version{}) {
		t.Error("0.0.0 must be allowed for modules, but not for providers")
	}
}

func TestExactModuleConstraint(t *testing.T) {
	t.Parallel()
	for _, s := range moduleCandidates {
		v := addrs.MustParseModuleVersion(s)
		c := addrs.ExactModuleConstraint(v)
		if got, want := c.Allows(v), cliAllows(v.String(), s); got != want {
			t.Errorf("ExactModuleConstraint(%s) = %q, which allows it: %v", v, c, got)
		}
		checkAsModule(t, v.String(), c, moduleCandidates)
		checkText(t, c)
	}
	for _, v := range []addrs.Version{{}, addrs.MustParseModuleVersion("1.2.3.4-beta"), addrs.MustParseModuleVersion("1.2.3~a")} {
		c := addrs.ExactModuleConstraint(v)
		if c.IsZero() || c.Allows(v) || c.Allows(addrs.MustParseVersion("0.0.0")) || c.Allows(addrs.MustParseVersion("1.2.3")) {
			t.Errorf("ExactModuleConstraint(%q) = %q, which allows something", v, c)
		}
	}
}

// checkAsModule compares c with the rule of the CLI for the text.
func checkAsModule(t *testing.T, text string, c addrs.ModuleConstraint, candidates []string) {
	t.Helper()
	match := c.Matcher()
	for _, s := range candidates {
		v, err := addrs.ParseModuleVersion(s)
		if err != nil {
			continue
		}
		if got, want := match(v), cliAllows(text, s); got != want || c.Allows(v) != want {
			t.Errorf("%q, canonical %q, version %s: %v; the CLI %v", text, c, v, got, want)
		}
	}
}

var anyVersion = regexp.MustCompile(goversion.VersionRegexpRaw)

// cliAllows applies the rule of the CLI: a prerelease must be in the set that the library for
// providers makes of the text, and the library for modules must allow the version.
func cliAllows(text, version string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // the CLI panics
		}
	}()
	required := goversion.MustConstraints(goversion.NewConstraint(text))
	v := goversion.Must(goversion.NewVersion(version))
	if v.Prerelease() != "" {
		set, err := versions.MeetingConstraintsString(required.String())
		if err != nil {
			stripped := anyVersion.ReplaceAllStringFunc(required.String(), func(s string) string { return strings.TrimPrefix(s, "v") })
			if set, err = versions.MeetingConstraintsString(stripped); err != nil {
				return false
			}
		}
		if pv, err := versions.ParseVersion(v.String()); err != nil || !set.Has(pv) {
			return false
		}
	}
	return required.Check(v)
}

func TestParseModuleConstraintRefuses(t *testing.T) {
	t.Parallel()
	for in, reason := range casetest.Pairs(t, "module-constraints-refused.txt") {
		_, err := addrs.ParseModuleConstraint(in)
		checkRefused(t, err, "module version constraint", in, reason)
	}
	if _, err := addrs.ParseModuleConstraint(strings.Repeat("1,", 2047) + "11"); err != nil {
		t.Error(err)
	}
	for n, want := range map[int]string{256: "", 257: "a version is too long"} {
		text := "~> 1, >= 1.0.0-" + strings.Repeat("a", n-len("1.0.0-"))
		if _, err := addrs.ParseModuleConstraint(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("ParseModuleConstraint with a version of %d bytes: %v, want %q", n, err, want)
		}
	}
}

// TestConstraintOfOtherKind checks versions that only the other grammar accepts.
func TestConstraintOfOtherKind(t *testing.T) {
	t.Parallel()
	if v := addrs.MustParseModuleVersion("1.2.3.4"); addrs.MustParseProviderConstraint(">= 1").Allows(v) {
		t.Errorf("a provider has version %s", v)
	}
	for _, s := range []string{"18446744073709551615.0.0", "1.0.0-a..b"} {
		if v := addrs.MustParseVersion(s); addrs.MustParseModuleConstraint(">= 1").Allows(v) {
			t.Errorf("a module has version %s", v)
		}
	}
}

func FuzzParseModuleConstraint(f *testing.F) {
	for in := range casetest.Pairs(f, "module-constraints.txt") {
		f.Add(in, "1.0.0-beta")
	}
	for _, s := range moduleCandidates {
		f.Add("="+s, s)
	}
	f.Fuzz(func(t *testing.T, s, candidate string) {
		c, err := addrs.ParseModuleConstraint(s)
		_, engineErr := goversion.NewConstraint(s)
		if (err == nil) != (engineErr == nil) && len(s) <= 250 && strings.TrimSpace(s) != "" {
			t.Fatalf("ParseModuleConstraint(%q) = %q, %v; the engine %v", s, c, err, engineErr)
		}
		if err != nil {
			checkPrintable(t, err)
			return
		}
		if again, err := addrs.ParseModuleConstraint(c.String()); (err != nil || again != c) && len(c.String()) <= 4096 {
			t.Fatalf("ParseModuleConstraint(%q) = %q, %v; want %q", c, again, err, c)
		}
		// In texts such as 1.0.0x2.0-a, the CLI finds wildcards and versions after them. This
		// package does not.
		if c.IsZero() || strings.ContainsAny(s, "xX") {
			return
		}
		checkAsModule(t, s, c, append([]string{candidate}, moduleCandidates...))
	})
}
