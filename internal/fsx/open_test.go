package fsx_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
)

func TestOpenRegular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	must(t, os.WriteFile(path, []byte("content"), 0o600))
	f, err := fsx.OpenRegular(path)
	must(t, err)
	defer f.Close()
	buf := make([]byte, 8)
	if n, err := f.Read(buf); err != nil || string(buf[:n]) != "content" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	if _, err := fsx.OpenRegular(dir); !errors.Is(err, fsx.ErrNotAFile) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := fsx.OpenRegular(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}
