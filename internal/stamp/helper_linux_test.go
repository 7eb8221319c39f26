package stamp_test

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/internal/stamp"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/memtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify/checksum"
)

// in is a directory on a file system of the list. Without it, the trees are on the disk, and the tests say that
// this is an ext4.
var in = flag.String("stamp.in", "", "directory on ext4, xfs or btrfs")

// tempDir returns an empty directory to which only this user can write, whatever the umask is.
func tempDir(t testing.TB) string {
	t.Helper()
	dir := memtest.OnDisk(t)
	if *in != "" {
		var err error
		if dir, err = os.MkdirTemp(*in, "stamp"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	must.Do(t, os.Chmod(dir, 0o755))
	return dir
}

// system is a System for tests in tempDir.
func system() stamp.System {
	if *in != "" {
		return stamp.System{}
	}
	return stamp.System{Statfs: isType(unix.EXT4_SUPER_MAGIC)}
}

// isType returns a Statfs for which all file systems have this type.
func isType(magic int64) func(*os.File) (int64, error) {
	return func(*os.File) (int64, error) { return magic, nil }
}

// tree is a directory, and hashes it.
type tree struct {
	*stamp.Memory
	dir    string
	stamps string // if not empty, each call is one of another process, with stamps here
	hashed int    // calls that read the files
}

// newStamped returns a newTree with stamps.
func newStamped(t testing.TB) *tree {
	t.Helper()
	x := newTree(t)
	dir := t.TempDir()
	if *in != "" {
		dir = tempDir(t)
	}
	must.Do(t, os.Chmod(dir, 0o755))
	x.stamps = filepath.Join(dir, "stamps")
	return x
}

// newTree returns a directory PARENT/package with some files, whose times are not young.
func newTree(t testing.TB) *tree {
	t.Helper()
	x := &tree{Memory: &stamp.Memory{System: system()}, dir: filepath.Join(tempDir(t), "parent", "package")}
	makeTree(t, x.dir, "content")
	return x
}

func makeTree(t testing.TB, dir, content string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "docs"), 0o755))
	write(t, filepath.Join(dir, "program"), content)
	write(t, filepath.Join(dir, "docs", "text"), "text")
	disktest.Tick(t, filepath.Dir(dir))
}

// write writes a file in place.
func write(t testing.TB, name, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(name, []byte(content), 0o644))
}

// changed returns the change time of a file.
func changed(t testing.TB, name string) time.Time {
	t.Helper()
	info := must.Get(os.Lstat(name))(t)
	return time.Unix(info.Sys().(*syscall.Stat_t).Ctim.Unix())
}

// hash hashes the tree and checks the result. It reports whether an earlier result was used.
func (x *tree) hash(t testing.TB) (known bool) {
	t.Helper()
	root := must.Get(os.OpenRoot(x.dir))(t)
	defer root.Close()
	before := x.hashed
	if x.stamps != "" {
		x.Memory = &stamp.Memory{System: x.System}
	}
	got, at, err := x.Hash(t.Context(), root, x.stamps, x.compute)
	must.Do(t, err)
	want := must.Get(checksum.L1Dir(t.Context(), os.DirFS(x.dir).(fs.ReadLinkFS)))(t)
	if got != want {
		t.Errorf("Hash = %v, the directory has %v", got, want)
	}
	if known = x.hashed == before; known == at.IsZero() {
		t.Errorf("Hash read the files: %t, but returned the time %v", !known, at)
	}
	return known
}

func (x *tree) compute(ctx context.Context, fsys fs.FS) (checksum.Hash, error) {
	x.hashed++
	return checksum.L1Dir(ctx, fsys)
}

// want hashes the tree and fails the test unless an earlier result was used, or not.
func (x *tree) want(t testing.TB, known bool) {
	t.Helper()
	if got := x.hash(t); got != known {
		t.Errorf("an earlier result was used: %t, want %t", got, known)
	}
}

// files returns the paths of the stamps.
func (x *tree) files(t testing.TB) []string {
	t.Helper()
	list := must.Get(filepath.Glob(filepath.Join(x.stamps, "v1", "*.stamp")))(t)
	return list
}
