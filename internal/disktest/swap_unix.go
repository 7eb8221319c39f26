//go:build unix

package disktest

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// Swapped calls read over and over with the path of a file of this content, in whose place
// a pipe is put meanwhile, and the file again, a thousand times. Nobody writes to the pipe,
// so a read that opens it as it would a file does not return. There is nothing else in the
// file's directory. The errors are those of read.
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
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
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
