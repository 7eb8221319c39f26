package module_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/module"
)

// TestStamps: with stamps, an unpacked module is read once, and again when a file has changed. Without, or
// on a file system that is not believed, each call reads it.
func TestStamps(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	must.Do(t, os.Chmod(base, 0o755))
	dir := filepath.Join(base, "vpc")
	src := registry(t, archiveURL+".zip", example.zip(t))
	o := module.Options{Replace: true, H1: h1(t, example), Stamps: filepath.Join(base, "stamps")}
	want := func(fetched, believed bool) {
		t.Helper()
		before := opened(src)
		report := must.Get(module.DownloadLocation(t.Context(), src, at(t, archiveURL+".zip"), dir, o))(t)
		if got := opened(src) > before; got != fetched || report.Reused == fetched || report.Believed.IsZero() == believed {
			t.Errorf("fetched %t, reused %t, believed since %v; want fetched %t and believed %t", got, report.Reused, report.Believed, fetched, believed)
		}
		disktest.Tick(t, base)
	}
	var stat unix.Statfs_t
	must.Do(t, unix.Statfs(base, &stat))
	kind := uint32(stat.Type)
	known := kind == unix.EXT4_SUPER_MAGIC || kind == unix.XFS_SUPER_MAGIC || kind == unix.BTRFS_SUPER_MAGIC
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
