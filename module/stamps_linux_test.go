package module_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/memtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The tests of stamps are not parallel: a program that another test starts has the open files of this process for a
// moment, and a directory with a file that is open for writing is not believed.

// TestStamps: with stamps, an unpacked module is read once, and again when a file has changed. Without, or
// on a file system that is not believed, each call reads it.
func TestStamps(t *testing.T) {
	base := memtest.OnDisk(t)
	must.Do(t, os.Chmod(base, 0o755))
	dir := filepath.Join(base, "vpc")
	src := registry(t, archiveURL+".zip", example.zip(t))
	o := module.Options{Replace: true, Stamps: filepath.Join(base, "stamps")}
	want := func(fetched, believed bool) {
		t.Helper()
		before := opened(src)
		report := must.Get(module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL+".zip"), Dir: dir, H1: h1(t, example)}, o))(t)
		if got := opened(src) > before; got != fetched || report.Reused == fetched || report.Believed.IsZero() == believed {
			t.Errorf("fetched %t, reused %t, believed since %v; want fetched %t and believed %t", got, report.Reused, report.Believed, fetched, believed)
		}
		disktest.Tick(t, base)
	}
	known := believed(t, base)
	want(true, false)
	want(false, false)
	want(false, known)
	o.Stamps = ""
	want(false, false)
	o.Stamps = filepath.Join(base, "stamps")
	want(false, known)
	must.Do(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte("changed"), 0o644))
	want(true, false)
	want(false, false)
	want(false, known)
}

// TestStampsAfterFetch: stamps also count for a package that another call has put there during the fetch, but only
// with H1.
func TestStampsAfterFetch(t *testing.T) {
	for _, pin := range []checksum.Hash{{}, h1(t, example)} {
		base := memtest.OnDisk(t)
		must.Do(t, os.Chmod(base, 0o755))
		dir, content := filepath.Join(base, "vpc"), example.zip(t)
		o := module.Options{Replace: true, Stamps: filepath.Join(base, "stamps")}
		src := opening(func() (*module.Body, error) {
			for range 2 {
				must.Get(module.Download(t.Context(), only(content), module.Request{Location: at(t, archiveURL), Dir: dir, H1: h1(t, example)}, o))(t)
				disktest.Tick(t, base)
			}
			return body(content), nil
		})
		report := must.Get(module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL+"?archive=zip"), Dir: dir, H1: pin}, o))(t)
		if want := believed(t, base) && !pin.IsZero(); !report.Reused || report.Believed.IsZero() == want {
			t.Errorf("H1 %v: reused %t, believed since %v; want believed %t", pin, report.Reused, report.Believed, want)
		}
	}
}

// believed reports whether stamps count on the file system of dir.
func believed(t *testing.T, dir string) bool {
	t.Helper()
	var stat unix.Statfs_t
	must.Do(t, unix.Statfs(dir, &stat))
	kind := uint32(stat.Type)
	return kind == unix.EXT4_SUPER_MAGIC || kind == unix.XFS_SUPER_MAGIC || kind == unix.BTRFS_SUPER_MAGIC
}
