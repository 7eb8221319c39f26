package install_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestLockIsNotMutated: Ensure does not change the given lock file, whether it selects, removes or
// refuses.
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
	if e, _ := result.Lock.Get(numbered(0)); result.Lock.Len() != 1 || e.Version.String() != "1.1.0" || slices.Contains(e.Hashes, lock.Accept(numbered(0), addrs.MustParseVersion("1.0.0")).Hashes()[0]) {
		t.Errorf("after the upgrade:\n%s", result.Lock.Bytes())
	}
}

// TestLockedVersion: a locked version is kept if possible, otherwise refused.
func TestLockedVersion(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		Name, Constraint string
		Upgrade          bool
		Version          string
		Locked           bool
	}](t, "locked-versions.txt") {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			s.want[numbered(0)] = constraintOf("1.0.0")
			lock := s.ensure(t, nil).Lock
			s.want[numbered(0)] = constraintOf(test.Constraint)
			s.in.Upgrade = test.Upgrade
			if test.Version == "" {
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
			if sel.Version.String() != test.Version || sel.Locked != test.Locked {
				t.Errorf("version %s, locked %v", sel.Version, sel.Locked)
			}
			if e, _ := result.Lock.Get(sel.Provider); e.Version != sel.Version || e.Constraints != s.want[sel.Provider] {
				t.Errorf("locked %+v", e)
			}
		})
	}
}

// TestNothingReplacesTheLock: a signed package without a locked hash is refused. A package with a
// locked hash needs no signature.
func TestNothingReplacesTheLock(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	other := lock.Clone()
	must.Do(t, other.Set(lockfile.Entry{Provider: numbered(0), Version: v110, Hashes: []checksum.Hash{checksum.ZHSum([32]byte{1})}}))
	result, err := s.in.Ensure(t.Context(), s.want, other)
	if !errors.Is(err, verify.ErrNotAccepted) || only(t, result).Err == nil || only(t, result).Dir != "" || !result.Lock.Equal(other) {
		t.Errorf("%v: %+v", err, result)
	}
	s.AddFault(regtest.Fault{Kind: regtest.Signature, Raw: []byte("nonsense")})
	s.elsewhere(t)
	if sel := only(t, s.ensure(t, lock)); sel.Reports[s.in.Platform].Trust != verify.Accepted {
		t.Errorf("%+v", sel)
	}

	// Unless the policy requires one: then an installed directory is not accepted, either.
	s.in.Policy = policyOf(verify.Policy{RequireSignature: true})
	if _, err := s.in.Ensure(t.Context(), s.want, lock); !errors.Is(err, verify.ErrBadSignature) {
		t.Errorf("a signature is required: %v", err)
	}
	s.ClearFaults()
	if sel := only(t, s.ensure(t, lock)); sel.Reports[s.in.Platform].Trust != verify.Signed {
		t.Errorf("%+v", sel)
	}
}

// TestTampered: Ensure replaces an installed directory that was changed, and a file that was added is gone. OpenTofu 1.13 fails there
// and leaves the directory to the operator.
func TestTampered(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	result := s.ensure(t, nil)
	sel := only(t, result)
	must.Do(t, os.WriteFile(filepath.Join(sel.Dir, "added"), nil, 0o644))
	again := only(t, s.ensure(t, result.Lock))
	if _, err := os.Lstat(filepath.Join(again.Dir, "added")); !errors.Is(err, fs.ErrNotExist) || again.Dir != sel.Dir {
		t.Errorf("Ensure over a changed directory: %v in %s, want the package in %s", err, again.Dir, sel.Dir)
	}
}

// TestLockedWithoutHashes: a locked version without hashes is kept, and the caller's policy
// decides.
func TestLockedWithoutHashes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := &lockfile.File{Header: lockfile.HeaderTerraform}
	must.Do(t, lock.Set(lockfile.Entry{Provider: numbered(0), Version: addrs.MustParseVersion("1.0.0")}))
	result := s.ensure(t, lock)
	if sel := only(t, result); sel.Version.String() != "1.0.0" || !sel.Locked || sel.Reports[s.in.Platform].Trust != verify.Signed {
		t.Errorf("%+v", sel)
	}
	if result.Lock.Header != lockfile.HeaderTerraform {
		t.Errorf("header %q", result.Lock.Header)
	}
}

// TestLockReadOnly: with ReadOnly a lock file that would have to change is an error, and nothing is requested.
func TestLockReadOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	both := s.ensure(t, nil).Lock
	without := both.Clone()
	without.Keep(slices.Values([]addrs.Provider{numbered(1)}))
	unhashed := without.Clone()
	must.Do(t, unhashed.Set(lockfile.Entry{Provider: numbered(0), Version: addrs.MustParseVersion("1.0.0")}))
	for name, c := range map[string]struct {
		lock    *lockfile.File
		without int // this one is not required
		change  func(*install.Installer)
		want    string
	}{
		"same":        {lock: both, without: -1},
		"nil":         {without: -1, want: "no hashes for " + numbered(0).String()},
		"missing":     {lock: without, without: -1, want: "no hashes for " + numbered(0).String()},
		"no hashes":   {lock: unhashed, without: -1, want: "no hashes for " + numbered(0).String()},
		"overridden":  {lock: without, without: -1, change: func(in *install.Installer) { in.DevOverrides = map[addrs.Provider]string{numbered(0): t.TempDir()} }},
		"superfluous": {lock: both, without: 1, want: "has an entry for " + numbered(1).String()},
	} {
		want := maps.Clone(s.want)
		if c.without >= 0 {
			delete(want, numbered(c.without))
		}
		in := *s.in
		in.Dir, in.ReadOnly = &install.Dir{Path: t.TempDir()}, true
		if c.change != nil {
			c.change(&in)
		}
		before := len(s.Requests())
		for call, do := range map[string]func(context.Context, install.Requirements, *lockfile.File) (*install.Result, error){"Plan": in.Plan, "Ensure": in.Ensure} {
			result, err := do(t.Context(), want, c.lock)
			if errors.Is(err, install.ErrReadOnly) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) || result.Lock == nil {
				t.Errorf("%s: %s with ReadOnly: %v, want an error with %q", name, call, err, c.want)
			}
		}
		if after := len(s.Requests()); c.want != "" && after != before {
			t.Errorf("%s: %d requests, want none", name, after-before)
		}
	}
}

// TestPredecessor: a lock file of Terraform gives the versions, but not the hashes, of providers
// that OpenTofu's registry has rebuilt.
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
		e := lockfile.Entry{Provider: addrs.MustParseProvider("registry.terraform.io/hashicorp/" + name), Version: addrs.MustParseVersion("3.5.0"), Hashes: []checksum.Hash{checksum.ZHSum([32]byte{1})}}
		must.Do(t, lock.Set(e))
	}
	result := s.ensure(t, lock)
	if sel := only(t, result); sel.Version.String() != "3.5.0" || result.Lock.Len() != 1 {
		t.Errorf("%+v\n%s", sel, result.Lock.Bytes())
	}
}

// TestLockedVersionWithdrawn: if the source no longer lists a locked version, the error says so and
// names the remedy.
func TestLockedVersionWithdrawn(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	s.Registry = regtest.New("registry.example.com")
	for _, version := range []string{"1.0.0", "2.0.0"} {
		s.AddProvider(regtest.Provider{Address: "acme/p0", Version: version, Platforms: inText(platformsOf)})
	}
	s.elsewhere(t)
	s.in.Source = s.registry()
	for _, work := range []func(context.Context, requirements, *lockfile.File) (*install.Result, error){s.in.Ensure, s.in.Plan} {
		_, err := work(t.Context(), s.want, lock)
		locked, ok := errors.AsType[*install.LockedError](err)
		if !ok || locked.Version != v110 || !errors.Is(err, failure.ErrNoVersion) {
			t.Fatalf("Ensure returned %v, want a LockedError that wraps ErrNoVersion", err)
		}
		want := "the locked version 1.1.0 is no longer available, the newest is 2.0.0; upgrade to choose another one"
		if !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "matches") {
			t.Errorf("Ensure returned %q, want it to end with %q", err, want)
		}
	}
	s.in.Upgrade = true
	if sel := only(t, s.ensure(t, lock)); sel.Version.String() != "1.0.0" {
		t.Errorf("after an upgrade %s is installed, want 1.0.0", sel.Version)
	}
}

// TestLockPlatforms: the lock file gets zh and h1 of all platforms, and other platforms are not
// installed.
func TestLockPlatforms(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	release := s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.2.0", Platforms: []string{"linux_amd64", "darwin_arm64", "windows_amd64"}})
	s.in.LockPlatforms = platformsOf[:3]
	result := s.ensure(t, nil)
	sel := only(t, result)
	hashes := result.Lock.Accept(sel.Provider, sel.Version).Hashes()
	for _, platform := range platformsOf[:3] {
		for _, h := range []checksum.Hash{release.ZH(platform.String()), release.H1(platform.String())} {
			if !slices.Contains(hashes, h) {
				t.Errorf("the lock file lacks %s of %s", h, platform)
			}
		}
		if r := sel.Reports[platform]; r == nil || r.Trust != verify.Signed {
			t.Errorf("%s: report %+v", platform, r)
		}
	}
	if len(hashes) != 6 || len(sel.Reports) != 3 || !slices.Equal(sel.Unlocked, []addrs.Platform{platformsOf[1], platformsOf[2]}) {
		t.Errorf("%d hashes, %d reports, %v were unlocked", len(hashes), len(sel.Reports), sel.Unlocked)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(sel.Dir), "*_*")); !slices.Contains(found, sel.Dir) || slices.ContainsFunc(found, func(f string) bool { return filepath.Base(f) == "windows_amd64" }) {
		t.Errorf("installed are %v", found)
	}
}

var v110 = addrs.MustParseVersion("1.1.0")

// TestLockGrowsElsewhere: an Installer for a platform that the lock file lacks adds only that
// platform.
func TestLockGrowsElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = platformsOf[:2]
	lock := s.ensure(t, nil).Lock
	s.elsewhere(t)
	s.in.Platform, s.in.LockPlatforms = platformsOf[2], platformsOf[:3]
	lock = s.ensure(t, lock).Lock
	s.counts(t, map[regtest.Kind]int{regtest.Package: 1, regtest.Archive: 1})
	s.in.LockPlatforms = platformsOf
	s.ensure(t, lock)
	s.counts(t, map[regtest.Kind]int{regtest.Package: 3, regtest.Archive: 3})
}

// TestLockPlatformMissing: if a platform has no package, the package is installed and the other
// platforms are locked.
func TestLockPlatformMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = []addrs.Platform{platformsOf[1], addrs.MustParsePlatform("plan9_mips")}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if _, ok := errors.AsType[*failure.Error](err); !errors.Is(err, provider.ErrNoPlatform) || !ok {
		t.Errorf("error %v, want %v", err, provider.ErrNoPlatform)
	}
	s.check(t, result)
	if sel := only(t, result); sel.Err == nil || len(sel.Reports) != 2 {
		t.Errorf("%+v", sel)
	}
}

// TestPackagesOnce: a package of a locked version is requested once, however much the source states.
func TestPackagesOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1 << 20, 3 << 20} {
		s := newSite(t, 1)
		lock := s.ensure(t, nil).Lock
		s.in.LockPlatforms = platformsOf[:3]
		s.in.Source = &astray{s.in.Source, func(_ context.Context, pkg *provider.Package) (*provider.Package, error) {
			pkg.Hashes = map[addrs.Platform][]checksum.Hash{addrs.MustParsePlatform("plan9_mips"): make([]checksum.Hash, n/100)}
			return pkg, nil
		}}
		s.ensure(t, lock)
		if got := s.Count(regtest.Package); got != 2 {
			t.Errorf("%d bytes for each of two platforms: %d requests for packages, want 2", n, got)
		}
	}
}

// hashMemory is a HashStore in memory.
type hashMemory struct{ m sync.Map }

func (s *hashMemory) Hashes(_ context.Context, zh checksum.Hash) ([]checksum.Hash, error) {
	v, _ := s.m.Load(zh)
	hashes, _ := v.([]checksum.Hash)
	return hashes, nil
}

func (s *hashMemory) StoreHashes(_ context.Context, zh checksum.Hash, hashes []checksum.Hash) error {
	s.m.Store(zh, hashes)
	return nil
}

// withAndWithout runs a test without a HashStore and with an empty one.
func withAndWithout(t *testing.T, test func(t *testing.T, s *site)) {
	t.Parallel()
	for name, store := range map[string]provider.HashStore{"without": nil, "with": &hashMemory{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			s.in.Store = store
			test(t, s)
		})
	}
}

// steady checks that another Ensure makes no request and keeps the lock file, and that a fresh
// clone downloads only the package.
func (s *site) steady(t *testing.T, lock *lockfile.File) {
	t.Helper()
	for range 2 {
		again := s.ensure(t, lock)
		s.counts(t, nil)
		if string(again.Lock.Bytes()) != string(lock.Bytes()) || len(only(t, again).Unlocked) > 0 {
			t.Errorf("%v are unlocked; the lock became\n%s", only(t, again).Unlocked, again.Lock.Bytes())
		}
		plan, err := s.in.Plan(t.Context(), s.want, lock)
		if err != nil || len(only(t, plan).Unlocked) > 0 || s.Count(0) > 0 {
			t.Errorf("plan: %v, %+v", err, plan)
		}
	}
	s.elsewhere(t)
	if sel := only(t, s.ensure(t, lock)); len(sel.Unlocked) > 0 {
		t.Errorf("in a clone %v are unlocked", sel.Unlocked)
	}
	s.counts(t, map[regtest.Kind]int{regtest.Package: 1, regtest.Archive: 1})
}

// relock returns a copy of the lock file with the hashes that keep accepts.
func relock(t *testing.T, lock *lockfile.File, keep func(checksum.Hash) bool) *lockfile.File {
	t.Helper()
	lock = lock.Clone()
	for e := range lock.All() {
		e.Hashes = slices.DeleteFunc(e.Hashes, func(h checksum.Hash) bool { return !keep(h) })
		must.Do(t, lock.Set(e))
	}
	return lock
}

// TestLockAdded: an additional platform is downloaded, and with a HashStore no other one.
func TestLockAdded(t *testing.T) {
	withAndWithout(t, func(t *testing.T, s *site) {
		s.in.LockPlatforms = platformsOf[:2]
		lock := s.ensure(t, nil).Lock
		s.in.LockPlatforms = platformsOf[:3]
		plan, err := s.in.Plan(t.Context(), s.want, lock)
		if err != nil || !slices.Equal(only(t, plan).Unlocked, platformsOf[1:3]) {
			t.Errorf("%v, planned %+v", err, plan)
		}
		result := s.ensure(t, lock)
		want := 2
		if s.in.Store != nil {
			want = 1
		}
		if got := s.Count(regtest.Archive); got != want || !slices.Equal(only(t, result).Unlocked, platformsOf[1:3]) {
			t.Errorf("%d archives, want %d; unlocked: %v", got, want, only(t, result).Unlocked)
		}
		if n := len(h1Locked(result.Lock)); n != 3 {
			t.Errorf("%d platforms are locked", n)
		}
		s.steady(t, result.Lock)
	})
}

func h1Locked(lock *lockfile.File) []checksum.Hash {
	e, _ := lock.Get(numbered(0))
	return slices.DeleteFunc(e.Hashes, func(h checksum.Hash) bool { return h.Scheme() != checksum.SchemeH1 })
}

// TestLockArchivesOnly: a lock file with zh only does not cover a directory. Each package is
// downloaded once.
func TestLockArchivesOnly(t *testing.T) {
	withAndWithout(t, func(t *testing.T, s *site) {
		s.in.LockPlatforms = platformsOf[:2]
		whole := s.ensure(t, nil).Lock
		lock := relock(t, whole, func(h checksum.Hash) bool { return h.Scheme() == checksum.SchemeZH })
		if s.in.Store != nil {
			s.in.Store = &hashMemory{}
		}
		result := s.ensure(t, lock)
		s.counts(t, map[regtest.Kind]int{regtest.Package: 2, regtest.Archive: 2})
		if sel := only(t, result); sel.From != install.FromSource || sel.Reports[platformsOf[1]].Trust != verify.Accepted || !result.Lock.Equal(whole) {
			t.Errorf("%+v\n%s", sel, result.Lock.Bytes())
		}
		s.steady(t, result.Lock)
	})
}

// TestLockDirectories: an archive with entries for directories has two h1. With a HashStore it
// counts once, without one twice.
func TestLockDirectories(t *testing.T) {
	withAndWithout(t, func(t *testing.T, s *site) {
		s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.2.0", Platforms: inText(platformsOf), Files: map[string]string{"docs/": "", "docs/README": "read me"}})
		s.in.LockPlatforms = platformsOf[:2]
		lock := s.ensure(t, nil).Lock
		if n := len(h1Locked(lock)); n != 4 {
			t.Fatalf("%d h1 of two archives", n)
		}
		s.steady(t, lock)
		for n := 2; n <= 4; n++ {
			s.in.LockPlatforms = platformsOf[:n]
			lock = s.ensure(t, lock).Lock
			want := 2 * n
			if s.in.Store == nil {
				want = 4
			}
			if got := len(h1Locked(lock)); got != want {
				t.Errorf("%d platforms: %d h1, want %d", n, got, want)
			}
			s.steady(t, lock)
		}
		// The CLI records only the h1 of the directory.
		tree := h1Of(t, only(t, s.ensure(t, lock)).Dir)
		lock = relock(t, lock, func(h checksum.Hash) bool { return h.Scheme() == checksum.SchemeZH || h == tree })
		if sel := only(t, s.ensure(t, lock)); len(sel.Unlocked) != 3 {
			t.Errorf("unlocked: %v", sel.Unlocked)
		}
	})
}

// TestLockSameContent: two archives with the same content have one h1.
func TestLockSameContent(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	store := &hashMemory{}
	for _, h := range lock.Accept(numbered(0), v110).Hashes() {
		if h.Scheme() == checksum.SchemeZH {
			store.m.Store(h, h1Locked(lock))
		}
	}
	s.in.Store, s.in.LockPlatforms = store, platformsOf
	s.steady(t, lock)
}

// TestLockSameArchive: if two platforms have the same archive, its package is requested each time,
// but with a HashStore it is not downloaded again.
func TestLockSameArchive(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	zip := archivetest.Zip(t, entry{Name: "terraform-provider-p0_v1.1.0", Content: "runs everywhere"})
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.1.0", Platforms: inText(platformsOf), Zip: zip})
	s.want[numbered(0)] = addrs.ProviderConstraint{}
	s.in.Store, s.in.LockPlatforms = &hashMemory{}, platformsOf[:2]
	lock := s.ensure(t, nil).Lock
	again := s.ensure(t, lock)
	s.counts(t, map[regtest.Kind]int{regtest.Package: 1})
	if !again.Lock.Equal(lock) || len(lock.Accept(numbered(0), v110).Hashes()) != 2 {
		t.Errorf("locked\n%s\nthen\n%s", lock.Bytes(), again.Lock.Bytes())
	}
}

// TestLockStore: the hashes of a downloaded archive are stored under its zh, and no others, so that
// another project need not download it.
func TestLockStore(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	release := s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.1.0", Platforms: inText(platformsOf)})
	s.want[numbered(0)] = addrs.ProviderConstraint{}
	store := &hashMemory{}
	s.in.Store, s.in.LockPlatforms = store, platformsOf[:3]
	lock := s.ensure(t, nil).Lock
	want := map[checksum.Hash]checksum.Hash{}
	for _, platform := range inText(platformsOf[:3]) {
		want[release.ZH(platform)] = release.H1(platform)
	}
	store.m.Range(func(zh, hashes any) bool {
		if list := hashes.([]checksum.Hash); len(list) != 1 || list[0] != want[zh.(checksum.Hash)] {
			t.Errorf("%v has %v", zh, list)
		}
		delete(want, zh.(checksum.Hash))
		return true
	})
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	// Of a package that comes from the cache nothing is stored.
	s.in.Cache, s.in.Store = newDir(t), &hashMemory{}
	s.ensure(t, nil)
	s.elsewhere(t)
	distrustful := &hashMemory{}
	s.in.Store, s.in.LockPlatforms = distrustful, nil
	s.ensure(t, lock)
	distrustful.m.Range(func(zh, hashes any) bool { t.Errorf("%v has %v", zh, hashes); return true })
	s.in.Cache, s.in.Store, s.in.LockPlatforms = nil, store, platformsOf[:3]

	s.elsewhere(t)
	s.in.Platform = platformsOf[3]
	if again := s.ensure(t, nil); s.Count(regtest.Archive) != 1 || len(h1Locked(again.Lock)) != 4 {
		t.Errorf("%d archives, want that which is installed; locked\n%s\nbefore\n%s", s.Count(regtest.Archive), again.Lock.Bytes(), lock.Bytes())
	}
}

// TestLockStoreFails: a failing HashStore costs downloads, but is not a failure.
func TestLockStoreFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = platformsOf[:2]
	lock := s.ensure(t, nil).Lock
	s.in.Store = broken{}
	told := 0
	s.in.Progress = func(e progress.Event) {
		if errors.Is(e.Err, errBroken) && e.Kind == progress.StoreFailed {
			told++
		}
	}
	for n, archives := range []int{0, 0, 0, 2} {
		s.in.LockPlatforms, told = platformsOf[:n], 0
		if again := s.ensure(t, lock); s.Count(regtest.Archive) != archives || (told > 0) != (n > 1) || !again.Lock.Equal(lock) && n < 3 {
			t.Errorf("%d platforms: %d archives, told %d times", n, s.Count(regtest.Archive), told)
		}
	}
}

var errBroken = errors.New("broken")

// broken is a HashStore that fails.
type broken struct{}

func (broken) Hashes(context.Context, checksum.Hash) ([]checksum.Hash, error) { return nil, errBroken }
func (broken) StoreHashes(context.Context, checksum.Hash, []checksum.Hash) error {
	return errBroken
}
