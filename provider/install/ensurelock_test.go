package install_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestLockPlatforms: the lock file has zh and h1 of every platform that is asked for, and
// the other platforms are not installed.
func TestLockPlatforms(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	release := s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.2.0", Platforms: []string{"linux_amd64", "darwin_arm64", "windows_amd64"}})
	s.in.LockPlatforms = platformsOf[:3]
	result := s.ensure(t, nil)
	sel := only(t, result)
	hashes := result.Lock.Accept(sel.Provider, sel.Version)
	for _, platform := range platformsOf[:3] {
		for _, h := range []verify.Hash{release.ZH(platform.String()), release.H1(platform.String())} {
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

// TestLockGrows: what the lock file has already is not downloaded again, and what it lacks
// is added, for which its own hashes are proof enough.
func TestLockGrows(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one := s.ensure(t, nil).Lock
	s.in.LockPlatforms = platformsOf[:2]
	two := s.ensure(t, one).Lock
	s.counts(t, map[regtest.Kind]int{regtest.Package: 1, regtest.Archive: 1})
	if got, want := two.Accept(numbered(0), v110), len(one.Accept(numbered(0), v110))+1; len(got) != want {
		t.Errorf("%d hashes, want %d", len(got), want)
	}
	s.in.LockPlatforms = platformsOf[:3]
	three := s.ensure(t, two).Lock
	for range 2 {
		s.ensure(t, three)
		s.counts(t, nil)
		s.in.Source = nil
	}
}

var v110 = addrs.MustParseVersion("1.1.0")

// TestLockGrowsElsewhere: who installs for a platform that the lock file lacks adds that
// one alone.
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

// TestLockGrowsWithDirectories: archives with entries for directories have two h1 hashes
// each, which must not be taken for those of two platforms.
func TestLockGrowsWithDirectories(t *testing.T) {
	t.Parallel()
	platforms := inText(platformsOf)
	for _, fresh := range []bool{false, true} {
		for _, cached := range []bool{false, true} {
			s := newSite(t, 0)
			s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.1.0", Platforms: platforms, Files: map[string]string{"docs/": "", "docs/README": "read me"}})
			s.want[numbered(0)] = addrs.Constraint{}
			if cached {
				s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
			}
			s.in.LockPlatforms = platformsOf[:2]
			lock := s.ensure(t, nil).Lock
			for _, n := range []int{2, 3, 3, 4, 4} {
				if fresh {
					s.elsewhere(t)
				}
				s.in.LockPlatforms = platformsOf[:n]
				lock = s.ensure(t, lock).Lock
				// zh of all, and two h1 for each that was asked for.
				if got := len(lock.Accept(numbered(0), v110)); got != len(platformsOf)+2*n {
					t.Errorf("fresh %v, cached %v: %d hashes for %d platforms", fresh, cached, got, n)
				}
			}
			want := 0
			if fresh && !cached {
				want = 2 // package and archive of what is installed
			}
			if s.Count(0) != want {
				t.Errorf("fresh %v, cached %v: %v", fresh, cached, s.Requests())
			}
		}
	}
}

// hashMemory is a HashStore that forgets at the end of the test.
type hashMemory struct{ m sync.Map }

func (s *hashMemory) Hashes(_ context.Context, zh verify.Hash) ([]verify.Hash, error) {
	v, _ := s.m.Load(zh)
	hashes, _ := v.([]verify.Hash)
	return hashes, nil
}

func (s *hashMemory) StoreHashes(_ context.Context, zh verify.Hash, hashes []verify.Hash) error {
	s.m.Store(zh, hashes)
	return nil
}

// TestLockRemembers: with a memory nothing is taken for granted. One platform that takes
// the place of another one is noticed, one that is remembered is not asked for, and what
// was hashed for another project is not downloaded for this one.
func TestLockRemembers(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.Hashes = &hashMemory{}
	s.in.LockPlatforms = platformsOf[:2]
	first := s.ensure(t, nil).Lock
	s.ensure(t, first)
	s.counts(t, nil)

	s.in.LockPlatforms = []addrs.Platform{platformsOf[0], platformsOf[2]}
	second := s.ensure(t, first)
	if got := only(t, second).Unlocked; !slices.Equal(got, platformsOf[2:3]) {
		t.Errorf("unlocked: %v", got)
	}
	s.counts(t, map[regtest.Kind]int{regtest.Package: 1, regtest.Archive: 1})
	s.ensure(t, second.Lock)
	s.counts(t, nil)

	s.elsewhere(t)
	s.in.LockPlatforms = platformsOf[:3]
	third := s.ensure(t, nil)
	if s.Count(regtest.Archive) != 1 {
		t.Errorf("%d archives, want that which is installed", s.Count(regtest.Archive))
	}
	if !third.Lock.Equal(second.Lock) {
		t.Errorf("locked\n%s\nwant\n%s", third.Lock.Bytes(), second.Lock.Bytes())
	}
}

// TestLockMemoryFails: a memory that cannot be used costs downloads and is no failure.
func TestLockMemoryFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = platformsOf[:2]
	lock := s.ensure(t, nil).Lock
	s.in.Hashes = broken{}
	told := 0
	s.in.Progress = func(e provider.Event) {
		if errors.Is(e.Err, errBroken) && e.Kind == provider.EventStoreFailed {
			told++
		}
	}
	if again := s.ensure(t, lock); !again.Lock.Equal(lock) || s.Count(regtest.Archive) != 1 || told == 0 {
		t.Errorf("%d archives, told %d times", s.Count(regtest.Archive), told)
	}
}

var errBroken = errors.New("broken")

// broken is a HashStore that fails.
type broken struct{}

func (broken) Hashes(context.Context, verify.Hash) ([]verify.Hash, error) { return nil, errBroken }
func (broken) StoreHashes(context.Context, verify.Hash, []verify.Hash) error {
	return errBroken
}

// TestLockPlatformMissing: the package is installed all the same, and what is known is
// locked.
func TestLockPlatformMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = []addrs.Platform{platformsOf[1], addrs.MustParsePlatform("plan9_mips")}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	var e *provider.Error
	if !errors.Is(err, provider.ErrNoPlatform) || !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
	s.check(t, result)
	if sel := only(t, result); sel.Err == nil || len(sel.Reports) != 2 {
		t.Errorf("%+v", sel)
	}
}
