package install_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// requirements are providers with their constraints.
type requirements = map[addrs.Provider]addrs.Constraint

// platformsOf are those that the providers of a site have packages for, and the first of
// them is installed.
var platformsOf = []addrs.Platform{
	addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64"),
	addrs.MustParsePlatform("windows_amd64"), addrs.MustParsePlatform("freebsd_386"),
}

// site is a registry and a project that installs from it.
type site struct {
	*regtest.Registry
	in   *install.Installer
	want requirements
}

// newSite has n providers, p0 and so on, in the versions 1.0.0, 1.1.0 and 2.0.0, and a
// project that requires ~> 1.0 of each.
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
		Source:   &regclient.Client{HTTP: s.Client(), Retries: -1},
		Dir:      &install.Dir{Path: filepath.Join(t.TempDir(), "providers")},
		Platform: platformsOf[0],
	}
	return s
}

// inText returns the platforms as text.
func inText(platforms []addrs.Platform) (out []string) {
	for _, p := range platforms {
		out = append(out, p.String())
	}
	return out
}

// numbered is the provider pI of a site.
func numbered(i int) addrs.Provider {
	return addrs.MustParseProvider(fmt.Sprintf("registry.example.com/acme/p%d", i))
}

// ensure runs Ensure, which must succeed, with a fresh record of requests.
func (s *site) ensure(t *testing.T, lock *lockfile.File) *install.Result {
	t.Helper()
	s.Reset()
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, result)
	return result
}

// check makes sure that the result is whole: all that is required is there.
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

// counts makes sure how many requests of the kinds there were, and no others.
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

// selection is the one of a provider.
func selection(result *install.Result, p addrs.Provider) install.Selection {
	i := slices.IndexFunc(result.Selections, func(s install.Selection) bool { return s.Provider == p })
	if i < 0 {
		return install.Selection{}
	}
	return result.Selections[i]
}

// only returns the one selection.
func only(t *testing.T, result *install.Result) install.Selection {
	t.Helper()
	if len(result.Selections) != 1 {
		t.Fatalf("%d selections, want 1", len(result.Selections))
	}
	return result.Selections[0]
}

func constraintOf(s string) addrs.Constraint { return addrs.MustParseProviderConstraint(s) }

// TestEnsureCold: the newest version that is allowed, signed, installed and locked.
func TestEnsureCold(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	result := s.ensure(t, nil)
	for i, sel := range result.Selections {
		if sel.Provider != numbered(i) || sel.Version.String() != "1.1.0" || sel.Locked || sel.From != install.FromSource ||
			sel.Package == nil || sel.Fetched == 0 || sel.Constraint != s.want[sel.Provider] || len(sel.Unlocked) > 0 {
			t.Errorf("selection %d: %+v", i, sel)
		}
		if r := sel.Reports[s.in.Platform]; r.Trust != verify.Signed || r.SignedBy.KeyID != s.Key().ID() {
			t.Errorf("report %+v", r)
		}
		e, _ := result.Lock.Get(sel.Provider)
		want := append(slices.Clone(selReports(sel).Signed), treeOf(t, sel)) // the zh of all platforms and the h1 of one
		slices.SortFunc(want, verify.Hash.Compare)
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

// treeOf hashes what was installed.
func treeOf(t *testing.T, s install.Selection) verify.Hash {
	t.Helper()
	h, err := verify.H1Dir(os.DirFS(s.Dir))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func texts(hashes []verify.Hash) (out []string) {
	for _, h := range hashes {
		out = append(out, h.String())
	}
	return out
}

// TestEnsureAgain: what is there and locked stays, without a request; with neither Source
// nor network too.
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

// TestLockIsNotMutated: not by new versions, nor by removals, nor when it is refused.
func TestLockIsNotMutated(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.want[numbered(0)] = constraintOf("1.0.0")
	lock := s.ensure(t, nil).Lock
	before := string(lock.Bytes())
	s.want[numbered(0)] = constraintOf("~> 1.0")
	delete(s.want, numbered(1))
	s.in.Upgrade = true
	result := s.ensure(t, lock)
	if string(lock.Bytes()) != before || lock.Len() != 2 {
		t.Errorf("the lock changed:\n%s\ninto\n%s", before, lock.Bytes())
	}
	if e, _ := result.Lock.Get(numbered(0)); result.Lock.Len() != 1 || e.Version.String() != "1.1.0" || slices.Contains(e.Hashes, lock.Accept(numbered(0), addrs.MustParseVersion("1.0.0"))[0]) {
		t.Errorf("after the upgrade:\n%s", result.Lock.Bytes())
	}
}

// TestLockedVersion: it is kept where it can be, and refused where it cannot.
func TestLockedVersion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		constraint string
		upgrade    bool
		version    string // "": LockedError
		locked     bool
	}{
		"kept":                {"~> 1.0", false, "1.0.0", true},
		"upgraded":            {"~> 1.0", true, "1.1.0", false},
		"upgraded to itself":  {"1.0.0", true, "1.0.0", true},
		"any release":         {"", false, "1.0.0", true},
		"not allowed":         {"~> 2.0", false, "", true},
		"not allowed, anyway": {"~> 2.0", true, "2.0.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			s.want[numbered(0)] = constraintOf("1.0.0")
			lock := s.ensure(t, nil).Lock
			s.want[numbered(0)] = constraintOf(test.constraint)
			s.in.Upgrade = test.upgrade
			if test.version == "" {
				result, err := s.in.Ensure(t.Context(), s.want, lock)
				var locked *install.LockedError
				if !errors.As(err, &locked) || locked.Version.String() != "1.0.0" || locked.Constraint != s.want[numbered(0)] || locked.Provider != numbered(0) ||
					!strings.Contains(err.Error(), "upgrade") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%v", err)
				}
				if !result.Lock.Equal(lock) {
					t.Errorf("the lock became\n%s", result.Lock.Bytes())
				}
				return
			}
			result := s.ensure(t, lock)
			sel := only(t, result)
			if sel.Version.String() != test.version || sel.Locked != test.locked {
				t.Errorf("version %s, locked %v", sel.Version, sel.Locked)
			}
			if e, _ := result.Lock.Get(sel.Provider); e.Version != sel.Version || e.Constraints != s.want[sel.Provider] {
				t.Errorf("locked %+v", e)
			}
		})
	}
}

// TestNothingReplacesTheLock: a package that is signed, but not the one that is locked, is
// refused, and a package that is locked needs no signature.
func TestNothingReplacesTheLock(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	e, _ := lock.Get(numbered(0))
	hashes := e.Hashes
	e.Hashes = []verify.Hash{verify.ZHSum([32]byte{1})}
	if err := lock.Set(e); err != nil {
		t.Fatal(err)
	}
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, verify.ErrNotAccepted) || only(t, result).Err == nil || only(t, result).Dir != "" || !result.Lock.Equal(lock) {
		t.Errorf("%v: %+v", err, result)
	}

	e.Hashes = hashes
	if err := lock.Set(e); err != nil {
		t.Fatal(err)
	}
	s.AddFault(regtest.Fault{Kind: regtest.Signature, Raw: []byte("nonsense")})
	fresh := *s.in
	fresh.Dir = &install.Dir{Path: filepath.Join(t.TempDir(), "other")}
	s.in = &fresh
	if sel := only(t, s.ensure(t, lock)); sel.Reports[s.in.Platform].Trust != verify.Accepted {
		t.Errorf("%+v", sel)
	}

	// Unless the policy says so: then the directory alone is no proof either.
	s.in.Policy = func(addrs.Provider) verify.Policy { return verify.Policy{RequireSignature: true} }
	if _, err := s.in.Ensure(t.Context(), s.want, lock); !errors.Is(err, verify.ErrBadSignature) {
		t.Errorf("a signature is required: %v", err)
	}
	s.ClearFaults()
	if sel := only(t, s.ensure(t, lock)); sel.Reports[s.in.Platform].Trust != verify.Signed {
		t.Errorf("%+v", sel)
	}
}

// TestLockedWithoutHashes: the version is kept and the caller's policy decides.
func TestLockedWithoutHashes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := &lockfile.File{Header: lockfile.HeaderTerraform}
	if err := lock.Set(lockfile.Entry{Provider: numbered(0), Version: addrs.MustParseVersion("1.0.0")}); err != nil {
		t.Fatal(err)
	}
	result := s.ensure(t, lock)
	if sel := only(t, result); sel.Version.String() != "1.0.0" || !sel.Locked || sel.Reports[s.in.Platform].Trust != verify.Signed {
		t.Errorf("%+v", sel)
	}
	if result.Lock.Header != lockfile.HeaderTerraform {
		t.Errorf("header %q", result.Lock.Header)
	}
}

// TestPredecessor: a lock file of terraform gives the versions of what OpenTofu's registry
// has built anew, and not its hashes.
func TestPredecessor(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	for _, version := range []string{"3.5.0", "3.6.0"} {
		s.AddProvider(regtest.Provider{Address: "registry.opentofu.org/hashicorp/random", Version: version, Platforms: []string{"linux_amd64"}})
	}
	random := addrs.MustParseProvider("hashicorp/random")
	s.want[random] = constraintOf("~> 3.0")
	lock := &lockfile.File{}
	for _, name := range []string{"random", "aws"} {
		e := lockfile.Entry{Provider: addrs.MustParseProvider("registry.terraform.io/hashicorp/" + name), Version: addrs.MustParseVersion("3.5.0"), Hashes: []verify.Hash{verify.ZHSum([32]byte{1})}}
		if err := lock.Set(e); err != nil {
			t.Fatal(err)
		}
	}
	result := s.ensure(t, lock)
	if sel := only(t, result); sel.Version.String() != "3.5.0" || result.Lock.Len() != 1 {
		t.Errorf("%+v\n%s", sel, result.Lock.Bytes())
	}
}

// TestCache: packages come into the cache once and from there into each project.
func TestCache(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
	first := s.ensure(t, nil)
	project := func(link install.LinkMode) *install.Result {
		next := *s.in
		next.Dir, next.Link = &install.Dir{Path: filepath.Join(t.TempDir(), "providers")}, link
		s.in = &next
		return s.ensure(t, first.Lock)
	}
	for _, link := range []install.LinkMode{"", install.Copy} {
		for _, sel := range project(link).Selections {
			info, err := os.Lstat(sel.Dir)
			if sel.From != install.FromCache || err != nil || (info.Mode()&os.ModeSymlink != 0) != (link == "") {
				t.Errorf("%q: %+v, %v", link, sel, err)
			}
		}
		s.counts(t, nil)
	}
	// Offline the cache suffices too.
	s.in.Source = nil
	project("")
}

// TestRepair: a package that was altered is fetched again, and what is offline cannot do
// so says what is wrong.
func TestRepair(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{false, true} {
		s := newSite(t, 1)
		if cached {
			s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
		}
		first := s.ensure(t, nil)
		program := only(t, first).Executable
		if err := os.WriteFile(program, []byte("another program"), 0o755); err != nil {
			t.Fatal(err)
		}
		offline := *s.in
		offline.Source = nil
		_, err := offline.Ensure(t.Context(), s.want, first.Lock)
		if !errors.Is(err, install.ErrOffline) || !errors.Is(err, verify.ErrNotAccepted) {
			t.Errorf("offline: %v", err)
		}
		again := s.ensure(t, first.Lock)
		if sel := only(t, again); sel.From != install.FromSource || !slices.Contains(first.Lock.Accept(sel.Provider, sel.Version), treeOf(t, sel)) {
			t.Errorf("%+v", sel)
		}
		if !again.Lock.Equal(first.Lock) {
			t.Errorf("the lock became\n%s", again.Lock.Bytes())
		}
	}
}

// TestOffline: what is missing is an error that says so, for each provider.
func TestOffline(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	lock := s.ensure(t, nil).Lock
	s.in.Source = nil
	s.in.Dir = &install.Dir{Path: filepath.Join(t.TempDir(), "empty")}
	lock.Delete(numbered(1))
	if err := lock.Set(lockfile.Entry{Provider: numbered(2), Version: v110}); err != nil {
		t.Fatal(err)
	}
	_, err := s.in.Ensure(t.Context(), s.want, lock)
	var e *provider.Error
	if !errors.Is(err, install.ErrOffline) || !errors.As(err, &e) || e.Subject != numbered(0).String()+" 1.1.0" {
		t.Errorf("%v", err)
	}
	const want = `install registry.example.com/acme/p0 1.1.0: no source is given: it is not installed
choose a version of registry.example.com/acme/p1: no source is given: it is not locked
install registry.example.com/acme/p2 1.1.0: no source is given: the lock file has no hashes of it`
	if err.Error() != want {
		t.Errorf("%v", err)
	}
	s.in.Upgrade = true
	if _, err := s.in.Ensure(t.Context(), s.want, lock); strings.Count(err.Error(), "no source is given: an upgrade has to ask one") != 3 {
		t.Errorf("%v", err)
	}
}

// TestOfflineHashes: what is there is installed, although the lock file cannot be completed.
func TestOfflineHashes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	s.in.Source, s.in.LockPlatforms = nil, platformsOf
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, install.ErrOffline) || !strings.Contains(err.Error(), "darwin_arm64") || !result.Lock.Equal(lock) {
		t.Errorf("%v", err)
	}
	s.check(t, result)
}
