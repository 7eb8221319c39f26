package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// requirements are providers with their constraints.
type requirements = map[addrs.Provider]addrs.ProviderConstraint

// platformsOf are the platforms of the providers of a site. The first is installed.
var platformsOf = []addrs.Platform{
	addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64"),
	addrs.MustParsePlatform("windows_amd64"), addrs.MustParsePlatform("freebsd_386"),
}

// site is a registry and an Installer of a project.
type site struct {
	*regtest.Registry
	in   *install.Installer
	want requirements
}

// newSite returns a site with n providers p0, p1, … in the versions 1.0.0, 1.1.0 and 2.0.0. The
// project requires ~> 1.0 of each.
func newSite(t *testing.T, n int) *site {
	t.Helper()
	s := &site{Registry: regtest.New("registry.example.com"), want: requirements{}}
	platforms := inText(platformsOf)
	for i := range n {
		for _, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
			s.AddProvider(regtest.Provider{Address: fmt.Sprintf("acme/p%d", i), Version: version, Platforms: platforms})
		}
		s.want[numbered(i)] = addrs.MustParseProviderConstraint("~> 1.0")
	}
	s.in = &install.Installer{
		Source:   &regclient.Client{Transport: &transport.Client{HTTP: s.Client(), Retries: -1}},
		Dir:      &install.Dir{Path: filepath.Join(t.TempDir(), "providers")},
		Platform: platformsOf[0],
	}
	return s
}

// inText returns the platforms as strings.
func inText(platforms []addrs.Platform) (out []string) {
	for _, p := range platforms {
		out = append(out, p.String())
	}
	return out
}

// numbered returns the provider pI of a site.
func numbered(i int) addrs.Provider {
	return addrs.MustParseProvider(fmt.Sprintf("registry.example.com/acme/p%d", i))
}

// ensure resets the record of requests and calls Ensure, which must succeed.
func (s *site) ensure(t *testing.T, lock *lockfile.File) *install.Result {
	t.Helper()
	s.Reset()
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	must(t, err)
	s.check(t, result)
	return result
}

// check checks that all required providers are installed and locked.
func (s *site) check(t *testing.T, result *install.Result) {
	t.Helper()
	if len(result.Selections) != len(s.want) || result.Lock == nil {
		t.Fatalf("%d selections of %d, lock %v", len(result.Selections), len(s.want), result.Lock)
	}
	for _, sel := range result.Selections {
		if _, err := os.Stat(sel.Executable); err != nil || filepath.Dir(sel.Executable) != sel.Dir {
			t.Errorf("%s: directory %q, executable %q: %v", sel.Provider, sel.Dir, sel.Executable, err)
		}
		if !result.Lock.Covers(sel.Provider, sel.Version) || sel.Reports[s.in.Platform] == nil {
			t.Errorf("%s %s: not locked, or without a report", sel.Provider, sel.Version)
		}
	}
}

// counts checks the number of requests of each kind.
func (s *site) counts(t *testing.T, want map[regtest.Kind]int) {
	t.Helper()
	total := 0
	for kind, n := range want {
		total += n
		if got := s.Count(kind); got != n {
			t.Errorf("%d requests of kind %v, want %d", got, kind, n)
		}
	}
	if got := s.Count(0); got != total {
		t.Errorf("%d requests in all, want %d: %v", got, total, s.Requests())
	}
}

// selection returns the selection of a provider.
func selection(result *install.Result, p addrs.Provider) install.Selection {
	i := slices.IndexFunc(result.Selections, func(s install.Selection) bool { return s.Provider == p })
	if i < 0 {
		return install.Selection{}
	}
	return result.Selections[i]
}

// only returns the single selection.
func only(t *testing.T, result *install.Result) install.Selection {
	t.Helper()
	if len(result.Selections) != 1 {
		t.Fatalf("%d selections, want 1", len(result.Selections))
	}
	return result.Selections[0]
}

func constraintOf(s string) addrs.ProviderConstraint { return addrs.MustParseProviderConstraint(s) }

// TestEnsureCold: the newest allowed version is installed, signed and locked.
func TestEnsureCold(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	result := s.ensure(t, nil)
	for i, sel := range result.Selections {
		if sel.Provider != numbered(i) || sel.Version.String() != "1.1.0" || sel.Locked || sel.From != install.FromSource ||
			sel.Package == nil || sel.Fetched == 0 || sel.Constraint != s.want[sel.Provider] || len(sel.Unlocked) > 0 {
			t.Errorf("selection %d: %+v", i, sel)
		}
		if r := sel.Reports[s.in.Platform]; r.Trust != verify.Signed || r.SignedBy.KeyID != s.Key().Public().ID {
			t.Errorf("report %+v", r)
		}
		e, _ := result.Lock.Get(sel.Provider)
		want := append(slices.Clone(selReports(sel).Signed()), h1Of(t, sel.Dir)) // the zh of all platforms and the h1 of one
		slices.SortFunc(want, checksum.Hash.Compare)
		if diff := cmp.Diff(texts(want), texts(e.Hashes)); diff != "" || e.Constraints != sel.Constraint || e.Version != sel.Version {
			t.Errorf("entry %+v: %s", e, diff)
		}
	}
}

func selReports(s install.Selection) *verify.Report {
	for _, r := range s.Reports {
		return r
	}
	return nil
}

func texts(hashes []checksum.Hash) (out []string) {
	for _, h := range hashes {
		out = append(out, h.String())
	}
	return out
}

// TestEnsureAgain: installed and locked packages need no request, and neither Source nor network.
func TestEnsureAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	first := s.ensure(t, nil)
	before := first.Lock.Bytes()
	for range 2 {
		again := s.ensure(t, first.Lock)
		for _, sel := range again.Selections {
			if sel.From != install.FromDir || !sel.Locked || sel.Package != nil || sel.Fetched != 0 || sel.Reports[s.in.Platform].Trust != verify.Accepted {
				t.Errorf("%+v", sel)
			}
		}
		if string(again.Lock.Bytes()) != string(before) {
			t.Errorf("lock before\n%s\nafter\n%s", before, again.Lock.Bytes())
		}
		s.counts(t, nil)
		s.in.Source = nil
	}
}
