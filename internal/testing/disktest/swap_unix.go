//go:build unix

package disktest

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// Swapped calls read repeatedly with the path of a file with this content, while a pipe replaces
// the file and the file the pipe, a thousand times. No process writes to the pipe, so a read that
// opens it like a file blocks. The directory is otherwise empty. Swapped returns the errors of
// read.
func Swapped(t *testing.T, content string, read func(path string) error) []error {
	t.Helper()
	path, dir := filepath.Join(t.TempDir(), "path"), t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	put := func(what string) {
		next := filepath.Join(dir, "next")
		if err := os.Link(what, next); err != nil {
			t.Error(err)
		} else if err := os.Rename(next, path); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
	put(file)
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		for range 1000 {
			put(pipe)
			put(file)
		}
	}()
	var errs []error
	for !done.Load() {
		if err := read(path); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
