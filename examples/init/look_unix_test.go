//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNamedPipe: a pipe in place of a file is refused without waiting for it.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"main.tf", manifestName} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := initialise(t.Context(), w.initialiser(t, dir, false), io.Discard); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a pipe named %s: %v, want that it is not a regular file", name, err)
		}
	}
}
