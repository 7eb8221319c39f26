package install_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestDiskFull: if the disk is full, nothing is left of a new package and the old one stays.
func TestDiskFull(t *testing.T) {
	disktest.Full(t, 100_000, func(t *testing.T, path string) {
		d := &install.Dir{Path: path}
		small := newOffer(t, regtest.Provider{})
		small.install(t, d, install.Options{})
		for name, p := range map[string]regtest.Provider{
			"archive": {Version: "2.0.0", Size: 300_000},
			"content": {Version: "3.0.0", Zip: zipOf(t, entry{name: program, content: string(make([]byte, 300_000))})},
		} {
			large := newOffer(t, p)
			done, err := d.Install(t.Context(), large.src, large.pkg, install.Options{})
			if _, ok := errors.AsType[*provider.Error](err); !ok || !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%s: %+v, %v; want a *provider.Error with the system's reason", name, done, err)
			}
			wantNames(t, path, home+"/"+program)
		}
	})
}

// TestReadOnly: installed packages of a read-only directory can be used.
func TestReadOnly(t *testing.T) {
	var o *offer
	disktest.ReadOnly(t, func(t *testing.T, path string) {
		newOffer(t, regtest.Provider{}).install(t, &install.Dir{Path: path}, install.Options{})
	}, func(t *testing.T, path string) {
		d := &install.Dir{Path: path}
		o = newOffer(t, regtest.Provider{})
		elsewhere := o.install(t, newDir(t), install.Options{})
		accept := elsewhere.Report.Recordable()
		if done := o.install(t, d, install.Options{Policy: verify.Policy{Accept: accept}}); !done.Reused {
			t.Errorf("%+v", done)
		}
		if _, err := d.Lookup(t.Context(), alpha, v1, linux, accept); err != nil {
			t.Error(err)
		}
		lock := new(lockfile.File)
		must(t, lock.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: accept}))
		for name, in := range map[string]*install.Installer{
			"directory": {Source: o.src, Dir: d, Platform: linux},
			"cache":     {Source: o.src, Dir: newDir(t), Cache: d, Platform: linux},
		} {
			if _, err := in.Ensure(t.Context(), map[addrs.Provider]addrs.ProviderConstraint{alpha: {}}, lock); err != nil {
				t.Errorf("as the %s: %v", name, err)
			}
		}
		_, err := d.Install(t.Context(), o.src, o.pkg, install.Options{})
		if _, ok := errors.AsType[*provider.Error](err); !ok || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v, want a *provider.Error about the permission", err)
		}
		if removed, err := d.Prune(t.Context(), func(*install.Package) bool { return false }); err == nil || removed != nil {
			t.Errorf("%v, %v", removed, err)
		}
		wantNames(t, path, home+"/"+program)
	})
}

// TestReplacesReadOnlyTree: a package with read-only directories can be replaced and removed.
func TestReplacesReadOnlyTree(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(*testing.T, string) {}, func(t *testing.T, _ string) {
		dir, err := os.MkdirTemp("", "tofureg") // writable for this user
		must(t, err)
		defer os.RemoveAll(dir)
		d := &install.Dir{Path: dir}
		o := newOffer(t, regtest.Provider{})
		for range 2 {
			done := o.install(t, d, install.Options{})
			write(t, done.Dir, "docs/deep/a.txt", "other content")
			for _, name := range []string{"docs/deep", "docs"} {
				must(t, os.Chmod(filepath.Join(done.Dir, filepath.FromSlash(name)), 0o555))
			}
		}
		if removed, err := d.Prune(t.Context(), func(*install.Package) bool { return false }); len(removed) != 1 || err != nil {
			t.Errorf("%v, %v", removed, err)
		}
		o.install(t, d, install.Options{})
		wantNames(t, dir, home+"/"+program)
	})
}
