package fsx_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/must"
)

// TestSyncTree: all files and directories are opened, links are not followed, and an ended context ends it.
func TestSyncTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	for _, name := range []string{"file", "a/file", "a/b/file"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("content"), 0o644))
	}
	_ = os.Symlink("nowhere", filepath.Join(dir, "link"))
	root := must.Get(os.OpenRoot(dir))(t)
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
