package fsx_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/tofureg/tofureg/internal/fsx"
)

func TestTree(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	must(t, root.MkdirAll("dir/sub", 0o755))
	for _, name := range []string{"a", "dir/b", "dir/sub/c"} {
		must(t, root.WriteFile(name, []byte("content of "+name), 0o644))
	}
	if err := fstest.TestFS(fsx.Tree(t.Context(), root), "a", "dir/b", "dir/sub/c"); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	must(t, root.Symlink("/etc/passwd", "link"))
	if f, err := fsx.Tree(t.Context(), root).Open("link"); err == nil {
		t.Errorf("a link led out: %v", f)
	}
}

// TestTreeEnds: after the context has ended, no file is opened or read.
func TestTreeEnds(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	must(t, root.WriteFile("a", []byte("content"), 0o644))
	ctx, cancel := context.WithCancelCause(t.Context())
	tree := fsx.Tree(ctx, root)
	f, err := tree.Open("a")
	must(t, err)
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
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}
