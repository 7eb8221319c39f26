package fsx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestTree(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	must.Do(t, root.MkdirAll("dir/sub", 0o755))
	for _, name := range []string{"a", "dir/b", "dir/sub/c"} {
		must.Do(t, root.WriteFile(name, []byte("content of "+name), 0o644))
	}
	if err := fstest.TestFS(fsx.Tree(t.Context(), root), "a", "dir/b", "dir/sub/c"); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	must.Do(t, root.Symlink("/etc/passwd", "link"))
	if f, err := fsx.Tree(t.Context(), root).Open("link"); err == nil {
		t.Errorf("a link led out: %v", f)
	}
}

// TestTreeEnds: after the context has ended, no file is opened or read.
func TestTreeEnds(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	must.Do(t, root.WriteFile("a", []byte("content"), 0o644))
	ctx, cancel := context.WithCancelCause(t.Context())
	tree := fsx.Tree(ctx, root)
	f := must.Get(tree.Open("a"))(t)
	defer f.Close()
	if n, err := io.ReadFull(f, make([]byte, 3)); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	enough := errors.New("enough")
	cancel(enough)
	_, read := io.Copy(io.Discard, f)
	_, open := tree.Open("a")
	_, list := fs.ReadDir(tree, ".")
	for what, err := range map[string]error{"read": read, "open": open, "list": list} {
		if !errors.Is(err, enough) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v and %v", what, err, context.Canceled, enough)
		}
	}
}

func openRoot(t *testing.T) *os.Root {
	t.Helper()
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	t.Cleanup(func() { root.Close() })
	return root
}

// lateRemovals is the documented number of removals after the end of the context.
const lateRemovals = 100

// fill creates n files below dir/tree, in directories of up to ten, and returns the number of all files and
// directories.
func fill(t *testing.T, dir string, n int) int {
	t.Helper()
	for i := range n {
		sub := filepath.Join(dir, "tree", fmt.Sprint(i/10))
		must.Do(t, os.MkdirAll(sub, 0o755))
		must.Do(t, os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), nil, 0o644))
	}
	return count(t, dir)
}

// count returns the number of files and directories below dir.
func count(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	must.Do(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." {
			n++
		}
		return err
	}))
	return n
}

// TestRemoveTreeEnds: after the end of the context, 100 more files and directories are removed.
func TestRemoveTreeEnds(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		files int
		ctx   context.Context
		looks int // before the context ends
		stays bool
	}{
		"living":      {files: 2500, ctx: t.Context()},
		"ended":       {files: 90, ctx: ended},              // 100 with the directories
		"a few more":  {files: 91, ctx: ended, stays: true}, // 102
		"ends midway": {files: 500, ctx: &endsAfter{Context: t.Context(), looks: 50}, looks: 50, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := openRoot(t)
			all := fill(t, root.Name(), c.files)
			err := fsx.RemoveTree(c.ctx, root, "tree")
			left := count(t, root.Name())
			if !c.stays && (err != nil || left > 0) || c.stays && (!errors.Is(err, context.Canceled) || left < all-c.looks-lateRemovals) {
				t.Errorf("RemoveTree left %d of %d, want at most %d removed after the end: %v", left, all, lateRemovals, err)
			}
		})
	}
}

// TestDiscardEnds: what Discard leaves when the context has ended, the next sweep removes, but not a
// sweep whose context has ended.
func TestDiscardEnds(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	d := must.Get(fsx.CreatePartDir(t.Context(), filepath.Join(dir, "x")))(t)
	all := fill(t, d.Path(), 500)
	d.Discard(ended)
	left := count(t, dir)
	if left < all-lateRemovals || left > all+2 {
		t.Errorf("after Discard with an ended context: %d of %d left, want all but %d", left, all, lateRemovals)
	}
	fsx.SweepParts(ended, dir)
	if n := count(t, dir); n != left {
		t.Errorf("a sweep with an ended context removed %d of %d", left-n, left)
	}
	if fsx.SweepParts(t.Context(), dir); count(t, dir) != 0 {
		t.Errorf("%d left after the sweep", count(t, dir))
	}
}

// TestSyncTree: links are not followed, and an ended context ends it. install.TestSync shows that files are synced.
func TestSyncTree(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	fill(t, root.Name(), 25)
	_ = disktest.Symlink("nowhere", filepath.Join(root.Name(), "tree", "link"))
	must.Do(t, fsx.SyncTree(t.Context(), root))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := fsx.SyncTree(ctx, root); !errors.Is(err, context.Canceled) {
		t.Errorf("SyncTree with an ended context: error %v, want %v", err, context.Canceled)
	}
}

// TestRemoveTreeLink: a link is removed, its target is not.
func TestRemoveTreeLink(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	must.Do(t, root.MkdirAll("precious/dir", 0o755))
	must.Do(t, root.Mkdir("tree", 0o755))
	if err := disktest.Symlink(filepath.Join("..", "precious"), filepath.Join(root.Name(), "tree", "link")); err != nil {
		t.Skipf("skipped: this link cannot be made here: %v", err)
	}
	must.Do(t, fsx.RemoveTree(t.Context(), root, "tree"))
	must.Do(t, fsx.RemoveTree(t.Context(), root, "tree"))
	if n := count(t, root.Name()); n != 2 {
		t.Errorf("%d files and directories, want 2", n)
	}
}

// endsAfter is a context that ends after it has been looked at.
type endsAfter struct {
	context.Context
	looks int
}

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}
