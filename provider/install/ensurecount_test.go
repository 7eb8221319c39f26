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
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

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
			s.in.Hashes = store
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
	e, _ := lock.Get(numbered(0))
	e.Hashes = slices.DeleteFunc(e.Hashes, func(h checksum.Hash) bool { return !keep(h) })
	must(t, lock.Set(e))
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
		if s.in.Hashes != nil {
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
		if s.in.Hashes != nil {
			s.in.Hashes = &hashMemory{}
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
			if s.in.Hashes == nil {
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
	for _, h := range lock.Accept(numbered(0), v110) {
		if h.Scheme() == checksum.SchemeZH {
			store.m.Store(h, h1Locked(lock))
		}
	}
	s.in.Hashes, s.in.LockPlatforms = store, platformsOf
	s.steady(t, lock)
}

// TestLockSameArchive: if two platforms have the same archive, its package is requested each time,
// but with a HashStore it is not downloaded again.
func TestLockSameArchive(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	zip := zipOf(t, entry{name: "terraform-provider-p0_v1.1.0", content: "runs everywhere"})
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.1.0", Platforms: inText(platformsOf), Zip: zip})
	s.want[numbered(0)] = addrs.ProviderConstraint{}
	s.in.Hashes, s.in.LockPlatforms = &hashMemory{}, platformsOf[:2]
	lock := s.ensure(t, nil).Lock
	again := s.ensure(t, lock)
	s.counts(t, map[regtest.Kind]int{regtest.Package: 1})
	if !again.Lock.Equal(lock) || len(lock.Accept(numbered(0), v110)) != 2 {
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
	s.in.Hashes, s.in.LockPlatforms = store, platformsOf[:3]
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
	s.in.Hashes = broken{}
	told := 0
	s.in.Progress = func(e provider.Event) {
		if errors.Is(e.Err, errBroken) && e.Kind == provider.EventStoreFailed {
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

// TestLockStoreDistrusts: hashes that a source states are not stored.
func TestLockStoreDistrusts(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
	lock := s.ensure(t, nil).Lock
	store := &hashMemory{}
	s.in.Hashes = store
	s.elsewhere(t)
	s.ensure(t, lock)
	store.m.Range(func(zh, hashes any) bool {
		t.Errorf("%v has %v", zh, hashes)
		return true
	})
}
