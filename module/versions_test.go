package module_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
)

func listed(t testing.TB, list ...string) *module.Versions {
	t.Helper()
	v := &module.Versions{Module: vpc}
	for _, s := range list {
		version := must.Get(addrs.ParseModuleVersion(s))(t)
		v.Versions = append(v.Versions, module.Release{Version: version})
	}
	return v
}

func TestNewest(t *testing.T) {
	t.Parallel()
	all := listed(t, "1.0.0", "v1.10.0", "0.10", "1.9.0.4", "2.0.0-rc.1", "1.2")
	for constraint, want := range casetest.Pairs(t, "newest.txt") {
		c := must.Get(addrs.ParseModuleConstraint(constraint))(t)
		got, err := all.Newest(c)
		if got.String() != want || (want == "") != (err != nil) {
			t.Errorf("%q: %v, %v; want %q", constraint, got, err, want)
		}
	}
}

// TestNewestZero checks that 0.0.0 is a version like any other, as for the CLI.
func TestNewestZero(t *testing.T) {
	t.Parallel()
	for _, c := range []addrs.ModuleConstraint{{}, addrs.MustParseModuleConstraint(""), addrs.MustParseModuleConstraint("0.0.0")} {
		if got, err := listed(t, "0.0.0", "1.0.0-beta").Newest(c); got.String() != "0.0.0" || err != nil {
			t.Errorf("Newest(%q) = %v, %v; want 0.0.0", c, got, err)
		}
	}
	_, err := listed(t, "0.0.0").Newest(addrs.MustParseModuleConstraint("> 5"))
	if err == nil || !strings.Contains(err.Error(), "the newest is 0.0.0") {
		t.Errorf("Newest(> 5): %v, want the newest version in the error", err)
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	c := addrs.MustParseModuleConstraint("> 5")
	for want, v := range map[string]*module.Versions{
		`no version matches "> 5.0.0", the newest is 1.2.0`:                                listed(t, "1.0.0", "1.2.0", "1.3.0-a"),
		`no version matches "> 5.0.0", only prereleases are listed, the newest is 1.0.0-b`: listed(t, "1.0.0-a", "1.0.0-b"),
		`no version matches "> 5.0.0", none is listed`:                                     listed(t),
	} {
		_, err := v.Newest(c)
		u, ok := errors.AsType[*module.UnavailableError](err)
		if !ok || u.Error() != want || u.Constraint != c || u.Module != vpc {
			t.Errorf("%v, want %s", err, want)
		}
		if !errors.Is(err, failure.ErrNoVersion) || !errors.Is(err, failure.ErrNotFound) || !errors.Is(err, failure.ErrNoVersion) {
			t.Errorf("error %v, want ErrNoVersion", err)
		}
		wellFormed(t, err)
	}
	if e := listed(t, "1.0.0").Unavailable(addrs.MustParseVersion("2.0.0")); !strings.Contains(e.Error(), "2.0.0") || !errors.Is(e, failure.ErrNoVersion) {
		t.Errorf("Unavailable(2.0.0): %v, want the version in the error", e)
	}
	if _, err := listed(t, "1.0.0-a").Newest(addrs.ModuleConstraint{}); err == nil || !strings.Contains(err.Error(), "any release") {
		t.Errorf("Newest of prereleases: %v, want \"any release\"", err)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	v := listed(t, "1.0.0", "2.0.0")
	v.Versions[0].Deprecated = &module.Deprecation{Reason: "use 2.0.0", Link: "https://example.com/why"}
	v.Warnings = []string{"one was unusable"}
	c := v.Clone()
	c.Versions[1].Version, c.Warnings[0] = v1, "changed"
	if v.Versions[1].Version == v1 || v.Warnings[0] == "changed" || (*module.Versions)(nil).Clone() != nil {
		t.Error("the copy shares memory")
	}
	if r, ok := v.Find(v1); !ok || r.Deprecated == nil || r.Deprecated.Reason != "use 2.0.0" {
		t.Errorf("Find(%s) = %+v, %v; want its deprecation", v1, r, ok)
	}
	if got, want := v.String(), "registry.example.com/acme/vpc/aws: 1.0.0, 2.0.0"; got != want || listed(t).String() != "registry.example.com/acme/vpc/aws: no versions" {
		t.Errorf("String: %q and %q, want %q", got, listed(t), want)
	}
	if _, ok := v.Find(addrs.MustParseVersion("3.0.0")); ok {
		t.Error("Find(3.0.0) found a version that is not listed")
	}
	data := must.Get(json.Marshal(v))(t)
	want := `{"module":"registry.example.com/acme/vpc/aws","versions":[{"version":"1.0.0","deprecated":` +
		`{"reason":"use 2.0.0","link":"https://example.com/why"}},{"version":"2.0.0"}],"warnings":["one was unusable"]}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
