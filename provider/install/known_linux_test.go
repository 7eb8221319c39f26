package install_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/internal/stamp"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/memtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// The tests of what a Dir remembers are not parallel: a program that another test starts has the open files of this
// process for a moment, and a directory with a file that is open for writing is read again.

// newKnownDir returns an empty plugin directory on the disk, to which only this user can write. The tests say
// that it is on an ext4, wherever it is.
func newKnownDir(t *testing.T) *install.Dir {
	t.Helper()
	d := &install.Dir{Path: filepath.Join(memtest.OnDisk(t), "plugins")}
	must.Do(t, os.Chmod(filepath.Dir(d.Path), 0o755))
	d.SetSystem(stamp.System{Statfs: func(*os.File) (int64, error) { return unix.EXT4_SUPER_MAGIC, nil }})
	return d
}

// newKnownSite returns a site with n providers in a cache, and their lock file. The first Ensure has
// installed the packages, which are not young any more.
func newKnownSite(t *testing.T, n int) (*site, *lockfile.File) {
	t.Helper()
	s := newSite(t, n)
	s.in.Cache = newKnownDir(t)
	lock := s.ensure(t, nil).Lock
	disktest.Tick(t, filepath.Dir(s.in.Cache.Path))
	return s, lock
}

// read returns the number of packages that a call has read.
func read(result *install.Result) (n int) {
	for _, sel := range result.Selections {
		for _, report := range sel.Reports {
			if report.Believed.IsZero() {
				n++
			}
		}
	}
	return n
}

// TestHashedOnce: installers that share a cache read each package once, in new directories and in those
// with links.
func TestHashedOnce(t *testing.T) {
	s, lock := newKnownSite(t, 3)
	var all atomic.Int32
	ensure := func(in install.Installer) {
		for range 2 {
			result, err := in.Ensure(t.Context(), s.want, lock)
			if err != nil {
				t.Error(err)
				return
			}
			all.Add(int32(read(result)))
			s.check(t, result)
		}
	}
	for range 5 {
		ensure(*s.in)
	}
	var wg sync.WaitGroup
	for range 20 {
		in := *s.in
		in.Dir, in.Source = newDir(t), nil
		wg.Go(func() { ensure(in) })
	}
	wg.Wait()
	if all.Load() != 3 {
		t.Errorf("50 calls of Ensure have read %d packages, want 3", all.Load())
	}
}

// TestKnownWithoutCache: an installer without a cache reads each package of its directory once. Install
// knows what it has read, and Lookup reads it.
func TestKnownWithoutCache(t *testing.T) {
	s := newSite(t, 2)
	s.in.Dir = newKnownDir(t)
	lock := s.ensure(t, nil).Lock
	disktest.Tick(t, s.in.Dir.Path)
	for _, want := range []int{2, 0, 0} {
		if got := read(s.ensure(t, lock)); got != want {
			t.Errorf("Ensure has read %d packages, want %d", got, want)
		}
	}
	sel := s.ensure(t, lock).Selections[0]
	accept := lock.Accept(sel.Provider, sel.Version)
	found := must.Get(s.in.Dir.Lookup(t.Context(), sel.Provider, sel.Version, sel.Platform, accept))(t)
	if !found.Report.Believed.IsZero() {
		t.Errorf("Lookup did not read the package, which was read at %v", found.Report.Believed)
	}
	pkg := must.Get(s.in.Source.ProviderPackage(t.Context(), sel.Provider, sel.Version, sel.Platform))(t)
	options := install.Options{}
	options.Policy.Accept = accept
	done := must.Get(s.in.Dir.Install(t.Context(), nil, pkg, options))(t)
	if done.Report.Believed.IsZero() || !done.Reused {
		t.Errorf("Install has read the package again: %+v", done)
	}
}

// TestKnownPackageChanges: a package that has changed since it was read is replaced.
func TestKnownPackageChanges(t *testing.T) {
	s, lock := newKnownSite(t, 1)
	if got := read(s.ensure(t, lock)) + read(s.ensure(t, lock)); got != 1 {
		t.Fatalf("two calls of Ensure have read %d packages, want 1", got)
	}
	sel := s.ensure(t, lock).Selections[0]
	info := must.Get(os.Stat(sel.Executable))(t)
	content := must.Get(os.ReadFile(sel.Executable))(t)
	f := must.Get(os.OpenFile(sel.Executable, os.O_WRONLY, 0))(t)
	_ = must.Get(f.WriteString("evil"))(t)
	must.Do(t, f.Close())
	must.Do(t, os.Chtimes(sel.Executable, info.ModTime(), info.ModTime()))
	result := s.ensure(t, lock)
	if s.Count(regtest.Archive) != 1 {
		t.Errorf("%d downloads of a package with other content, want 1", s.Count(regtest.Archive))
	}
	if got, err := os.ReadFile(result.Selections[0].Executable); err != nil || string(got) != string(content) {
		t.Errorf("the changed package was not replaced: %v", err)
	}
}

// TestStamps: another process with a policy that allows stamps reads no package. Without the policy, or
// without the directory, each process reads all.
func TestStamps(t *testing.T) {
	s, lock := newKnownSite(t, 3)
	stamps := filepath.Join(t.TempDir(), "stamps")
	// anew has the fields of a new process.
	anew := func(stamps string) int {
		t.Helper()
		cache := newKnownDir(t)
		cache.Path, cache.Stamps = s.in.Cache.Path, stamps
		in := *s.in
		in.Cache, in.Source = cache, nil
		result := must.Get(in.Ensure(t.Context(), s.want, lock))(t)
		s.check(t, result)
		return read(result)
	}
	for _, test := range []struct {
		stamps string
		want   int
	}{
		{"", 3}, {"", 3}, // writes none
		{stamps, 3}, {stamps, 0}, {stamps, 0}, {"", 3}, {stamps, 0},
	} {
		if got := anew(test.stamps); got != test.want {
			t.Errorf("stamps in %q: read %d packages, want %d", test.stamps, got, test.want)
		}
	}
}

// TestStampsAreNotLocked: a hash that another process has computed is never added to a lock file.
func TestStampsAreNotLocked(t *testing.T) {
	s, lock := newKnownSite(t, 1)
	s.in.Cache.Stamps = filepath.Join(t.TempDir(), "stamps")
	s.ensure(t, lock)
	cache := newKnownDir(t)
	cache.Path, cache.Stamps = s.in.Cache.Path, s.in.Cache.Stamps
	s.in.Cache, s.in.TrustCache = cache, true
	if got := read(s.ensure(t, nil)); got != 1 {
		t.Errorf("with an empty lock file, Ensure has read %d packages, want 1", got)
	}
}
