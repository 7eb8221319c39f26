package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// TestCache: packages are installed in the cache once and placed in each project.
func TestCache(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
	first := s.ensure(t, nil)
	project := func(copies bool) *install.Result {
		next := *s.in
		next.Dir, next.Copy = &install.Dir{Path: filepath.Join(t.TempDir(), "providers")}, copies
		s.in = &next
		return s.ensure(t, first.Lock)
	}
	for _, copies := range both {
		for _, sel := range project(copies).Selections {
			info, err := os.Lstat(sel.Dir)
			if sel.From != install.FromCache || err != nil || (info.Mode()&os.ModeSymlink != 0) != (!copies && links(t)) {
				t.Errorf("copies %v: %+v, %v", copies, sel, err)
			}
		}
		s.counts(t, nil)
	}
	// The cache suffices offline, too.
	s.in.Source = nil
	project(false)
}

// TestRepair: a changed package is downloaded again. Offline, the error says what is wrong.
func TestRepair(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{false, true} {
		if cached && !links(t) {
			continue // the program in the cache is another file
		}
		s := newSite(t, 1)
		if cached {
			s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
		}
		first := s.ensure(t, nil)
		program := only(t, first).Executable
		must(t, os.WriteFile(program, []byte("another program"), 0o755))
		offline := *s.in
		offline.Source = nil
		_, err := offline.Ensure(t.Context(), s.want, first.Lock)
		if !errors.Is(err, provider.ErrOffline) || !errors.Is(err, verify.ErrNotAccepted) {
			t.Errorf("offline: %v", err)
		}
		again := s.ensure(t, first.Lock)
		if sel := only(t, again); sel.From != install.FromSource || !slices.Contains(first.Lock.Accept(sel.Provider, sel.Version), h1Of(t, sel.Dir)) {
			t.Errorf("%+v", sel)
		}
		if !again.Lock.Equal(first.Lock) {
			t.Errorf("the lock became\n%s", again.Lock.Bytes())
		}
	}
}

// TestOffline: offline, the error names each missing provider.
func TestOffline(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	lock := s.ensure(t, nil).Lock
	s.in.Source = nil
	s.in.Dir = &install.Dir{Path: filepath.Join(t.TempDir(), "empty")}
	lock.Delete(numbered(1))
	must(t, lock.Set(lockfile.Entry{Provider: numbered(2), Version: v110}))
	_, err := s.in.Ensure(t.Context(), s.want, lock)
	var e *provider.Error
	if !errors.Is(err, provider.ErrOffline) || !errors.As(err, &e) || e.Subject != numbered(0).String()+" 1.1.0" {
		t.Errorf("error %v, want %v", err, provider.ErrOffline)
	}
	const want = `install registry.example.com/acme/p0 1.1.0: offline: the package is not installed
choose a version of registry.example.com/acme/p1: offline: the provider is not in the lock file
install registry.example.com/acme/p2 1.1.0: offline: the lock file has no hashes of the version`
	if err.Error() != want {
		t.Errorf("%v", err)
	}
	s.in.Upgrade = true
	if _, err := s.in.Ensure(t.Context(), s.want, lock); strings.Count(err.Error(), "offline: Upgrade needs a source") != 3 {
		t.Errorf("%v", err)
	}
}

// TestOfflineHashes: offline, installed packages are used although the lock file cannot be
// completed.
func TestOfflineHashes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	s.in.Source, s.in.LockPlatforms = nil, platformsOf
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, provider.ErrOffline) || !strings.Contains(err.Error(), "darwin_arm64") || !result.Lock.Equal(lock) {
		t.Errorf("error %v, want %v", err, provider.ErrOffline)
	}
	s.check(t, result)
}
