package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
)

var (
	demo   = addrs.MustParseProvider("registry.opentofu.org/acme/demo")
	linux  = addrs.MustParsePlatform("linux_amd64")
	darwin = addrs.MustParsePlatform("darwin_arm64")
	plan9  = addrs.MustParsePlatform("plan9_arm")
	values = cmp.Options{cmpopts.EquateComparable(addrs.Provider{}, addrs.Version{}, addrs.Platform{}, addrs.ProviderConstraint{})}
)

func version(s string) addrs.Version {
	if s == "" {
		return addrs.Version{}
	}
	return addrs.MustParseVersion(s)
}

func constraint(s string) addrs.ProviderConstraint {
	if s == "" {
		return addrs.ProviderConstraint{}
	}
	return addrs.MustParseProviderConstraint(s)
}

// list returns versions of lines such as "1.2.0 5.0,6.0 linux_amd64,darwin_arm64". A dash is an
// unknown list.
func list(lines ...string) *provider.Versions {
	v := &provider.Versions{Provider: demo}
	for _, line := range lines {
		fields := append(strings.Fields(line), "-", "-")
		r := provider.Release{Version: version(fields[0])}
		if fields[1] != "-" {
			r.Protocols = strings.Split(fields[1], ",")
		}
		if fields[2] != "-" {
			for p := range strings.SplitSeq(fields[2], ",") {
				r.Platforms = append(r.Platforms, addrs.MustParsePlatform(p))
			}
		}
		v.Versions = append(v.Versions, r)
	}
	return v
}

func TestNewest(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct{ Constraint, Versions, Want string }](t, "newest.txt") {
		versions := list(strings.Fields(test.Versions)...)
		got, err := versions.Newest(constraint(test.Constraint))
		if got != version(test.Want) {
			t.Errorf("newest of %q that %q allows: %s, want %q", test.Versions, test.Constraint, got, test.Want)
		}
		if wantErr := test.Want == ""; wantErr != errors.Is(err, failure.ErrNoVersion) || wantErr != (err != nil) {
			t.Errorf("newest of %q that %q allows: error %v", test.Versions, test.Constraint, err)
		}
	}
}

func TestNewestFor(t *testing.T) {
	t.Parallel()
	kinds := map[string]error{"": nil, "ErrNoVersion": failure.ErrNoVersion, "ErrNoPlatform": provider.ErrNoPlatform, "ErrProtocol": provider.ErrProtocol}
	for _, test := range casetest.Read[struct {
		Name, List, Constraint            string
		Platforms                         []string
		Protocols, Want, Kind, Fits, Text string
	}](t, "newest-for.txt") {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			need := provider.Need{Protocols: constraint(test.Protocols)}
			for _, p := range test.Platforms {
				need.Platforms = append(need.Platforms, addrs.MustParsePlatform(p))
			}
			listed := strings.FieldsFunc(test.List, func(r rune) bool { return r == ';' })
			got, err := list(listed...).NewestFor(constraint(test.Constraint), need)
			if got != version(test.Want) {
				t.Errorf("got %s, want %q", got, test.Want)
			}
			kind, known := kinds[test.Kind]
			if kind == nil && known {
				if err != nil {
					t.Errorf("NewestFor: error %v, want none", err)
				}
				return
			}
			if !errors.Is(err, kind) {
				t.Fatalf("error %v, want %s", err, test.Kind)
			}
			var unavailable *provider.UnavailableError
			if !errors.As(err, &unavailable) {
				t.Fatalf("error %T, want an *UnavailableError in it", err)
			}
			if unavailable.Fits != version(test.Fits) {
				t.Errorf("fits %s, want %q", unavailable.Fits, test.Fits)
			}
			if want := "choose a version of registry.opentofu.org/acme/demo: " + test.Text; err.Error() != want {
				t.Errorf("text\n got %s\nwant %s", err, want)
			}
		})
	}
}

// TestKinds: ErrNoVersion and ErrNoPlatform are also ErrNotFound, ErrProtocol is not.
func TestKinds(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		failure.ErrNoVersion: true, provider.ErrNoPlatform: true, provider.ErrProtocol: false,
		provider.ErrUnpacked: false, failure.ErrNotFound: true,
	} {
		if errors.Is(err, failure.ErrNotFound) != want {
			t.Errorf("%v is ErrNotFound: %t, want %t", err, !want, want)
		}
	}
	if errors.Is(failure.ErrNoVersion, provider.ErrNoPlatform) {
		t.Error("ErrNoVersion is ErrNoPlatform")
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	versions := list("2.0.0 5.0 linux_amd64", "1.0.0 5.0 linux_amd64,plan9_arm")
	for _, test := range []struct {
		version  string
		platform addrs.Platform
		kind     error
		text     string
	}{
		{"2.0.0", plan9, provider.ErrNoPlatform, "2.0.0 has no package for plan9_arm, only for linux_amd64; the older 1.0.0 would fit"},
		{"2.0.0", linux, provider.ErrNoPlatform, "2.0.0 has no package for linux_amd64, although it is listed; the older 1.0.0 would fit"},
		{"3.0.0", linux, failure.ErrNoVersion, `no version matches "3.0.0", the newest is 2.0.0`},
	} {
		err := versions.Unavailable(version(test.version), test.platform)
		if !errors.Is(err, test.kind) {
			t.Errorf("%s for %s: %v, want kind %v", test.version, test.platform, err, test.kind)
		}
		if err.Error() != test.text {
			t.Errorf("%s for %s:\n got %s\nwant %s", test.version, test.platform, err, test.text)
		}
	}
	if err := versions.Unavailable(version("2.0.0"), addrs.Platform{}); err.Error() != "2.0.0 has no package; the older 1.0.0 would fit" {
		t.Errorf("for no platform: %v", err)
	}
	// What a list leaves open may fit, but not what the source has just denied.
	for v, hint := range map[string]string{"3.0.0": "the older 2.0.0 may fit", "2.0.0": "the newer 3.0.0 may fit", "1.0.0": "the newer 3.0.0 may fit"} {
		err := list("3.0.0 5.0 -", "2.0.0 - -", "1.0.0 5.0 -").Unavailable(version(v), linux)
		if want := v + " has no package for linux_amd64; " + hint; err.Error() != want || !err.Fits.IsZero() {
			t.Errorf("of a source that lists no platforms: %v, %s fits; want %s", err, err.Fits, want)
		}
	}
	err := list("1.0.0 - -").Unavailable(version("1.0.0"), linux)
	if want := "1.0.0 has no package for linux_amd64"; !errors.Is(err, provider.ErrNoPlatform) || err.Error() != want || !err.Fits.IsZero() {
		t.Errorf("got %v, %s fits; want %s", err, err.Fits, want)
	}
}

func TestLongPlatformListIsCut(t *testing.T) {
	t.Parallel()
	var platforms []string
	for i := range 30 {
		platforms = append(platforms, fmt.Sprintf("os%d_amd64", i))
	}
	_, err := list("1.0.0 - "+strings.Join(platforms, ",")).NewestFor(addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}})
	if err == nil || !strings.Contains(err.Error(), "os19_amd64, 10 more") || strings.Contains(err.Error(), "os20") {
		t.Errorf("got %v", err)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		protocols string
		need      provider.Need
		want      error
	}{
		{"5.1", provider.Need{}, nil},
		{"", provider.Need{}, nil},
		{"5.1", provider.Need{Platforms: []addrs.Platform{linux}}, nil},
		{"4.0", provider.Need{Protocols: constraint(">= 4")}, nil},
		{"4.0", provider.Need{}, provider.ErrProtocol},
		{"no version", provider.Need{}, provider.ErrProtocol},
		{"5.1", provider.Need{Platforms: []addrs.Platform{darwin}}, provider.ErrNoPlatform},
		{"5.1", provider.Need{Platforms: []addrs.Platform{darwin, linux}}, nil},
	} {
		pkg := &provider.Package{Provider: demo, Version: version("1.2.3"), Platform: linux}
		if test.protocols != "" {
			pkg.Protocols = []string{test.protocols}
		}
		if err := pkg.Fits(test.need); !errors.Is(err, test.want) {
			t.Errorf("protocol %q, need %v: %v, want %v", test.protocols, test.need, err, test.want)
		}
	}
}

func TestVersionsFindAndClone(t *testing.T) {
	t.Parallel()
	versions := list("2.0.0 5.0 linux_amd64", "1.0.0")
	versions.Warnings = []string{"careful"}
	r, ok := versions.Find(version("2.0.0"))
	if !ok || !slices.Equal(r.Protocols, []string{"5.0"}) {
		t.Errorf("Find: %v, %t", r, ok)
	}
	if _, ok := versions.Find(version("3.0.0")); ok {
		t.Error("found a version that is not listed")
	}
	c := versions.Clone()
	if diff := cmp.Diff(versions, c, values); diff != "" {
		t.Errorf("clone differs: %s", diff)
	}
	c.Versions[0].Version, c.Warnings[0] = version("9.0.0"), "changed"
	if versions.Versions[0].Version != version("2.0.0") || versions.Warnings[0] != "careful" {
		t.Error("a change of the clone reached the original")
	}
	if (*provider.Versions)(nil).Clone() != nil {
		t.Error("the clone of nothing is something")
	}
}

func TestVersionsJSON(t *testing.T) {
	t.Parallel()
	versions := list("2.0.0 5.0,6.0 linux_amd64,darwin_arm64", "1.0.0-beta1")
	versions.Warnings = []string{"careful"}
	data := must.Get(json.Marshal(versions))(t)
	want := `{"provider":"registry.opentofu.org/acme/demo","versions":[` +
		`{"version":"2.0.0","protocols":["5.0","6.0"],"platforms":["linux_amd64","darwin_arm64"]},` +
		`{"version":"1.0.0-beta1"}],"warnings":["careful"]}`
	if string(data) != want {
		t.Errorf("JSON\n got %s\nwant %s", data, want)
	}
	var back *provider.Versions
	must.Do(t, json.Unmarshal(data, &back))
	if diff := cmp.Diff(versions, back, values); diff != "" {
		t.Errorf("after a round trip: %s", diff)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	nameless := list("2.0.0")
	nameless.Provider = addrs.Provider{}
	if _, err := provider.Find(t.Context(), &stub{versions: nameless}, demo, constraint("> 2"), provider.Need{}); err == nil || !strings.Contains(err.Error(), demo.String()) {
		t.Errorf("Find in a list that does not name the provider: %v, want an error that does", err)
	}
	all, open := &stub{versions: list("3.0.0 7.0 -", "2.1.0 - linux_amd64", "2.0.0")}, &stub{versions: list("2.0.0")}
	old := &astray{Source: open, pkg: func(pkg *provider.Package) *provider.Package { pkg.Protocols = []string{"4.0"}; return pkg }}
	on := func(p addrs.Platform) provider.Need { return provider.Need{Platforms: []addrs.Platform{p}} }
	for name, test := range map[string]struct {
		src  provider.Lister
		c    string
		need provider.Need
		want string
		err  error
	}{
		"newest that fits":            {src: all, need: on(linux), want: "2.1.0 linux_amd64"},
		"for another platform":        {src: all, need: on(plan9), want: "2.0.0 plan9_arm"},
		"for this program's platform": {src: all, c: "2.0.0", want: "2.0.0 " + addrs.CurrentPlatform().String()},
		"constraint":                  {src: all, c: "< 2.1", need: on(linux), want: "2.0.0 linux_amd64"},
		"nothing fits":                {src: all, c: "~> 4.0", need: on(linux), err: failure.ErrNoVersion},
		"unknown provider":            {src: &stub{}, err: failure.ErrNotFound},
		"what the list did not tell":  {src: old, err: provider.ErrProtocol},
	} {
		pkg, err := provider.Find(t.Context(), test.src, demo, constraint(test.c), test.need)
		if !errors.Is(err, test.err) || err == nil && pkg.Version.String()+" "+pkg.Platform.String() != test.want {
			t.Errorf("%s: found %v, %v; want %s, %v", name, pkg, err, test.want, test.err)
		}
	}
}
