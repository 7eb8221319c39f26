package fsx_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
)

// TestSyncTree: all files and directories are opened, links are not followed, and an ended context ends it.
func TestSyncTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "a/file", "a/b/file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Symlink("nowhere", filepath.Join(dir, "link"))
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := fsx.SyncTree(t.Context(), root); err != nil {
		t.Errorf("SyncTree: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := fsx.SyncTree(ctx, root); !errors.Is(err, context.Canceled) {
		t.Errorf("SyncTree with an ended context: error %v, want %v", err, context.Canceled)
	}
}
