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
	if err := root.MkdirAll("dir/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "dir/b", "dir/sub/c"} {
		if err := root.WriteFile(name, []byte("content of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := fstest.TestFS(fsx.Tree(t.Context(), root), "a", "dir/b", "dir/sub/c"); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	if err := root.Symlink("/etc/passwd", "link"); err != nil {
		t.Fatal(err)
	}
	if f, err := fsx.Tree(t.Context(), root).Open("link"); err == nil {
		t.Errorf("a link led out: %v", f)
	}
}

// TestTreeEnds: after the context has ended, no file is opened or read.
func TestTreeEnds(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	if err := root.WriteFile("a", []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	tree := fsx.Tree(ctx, root)
	f, err := tree.Open("a")
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}
