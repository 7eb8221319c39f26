package fsx_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
)

func TestTemp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := func() int {
		list, err := os.ReadDir(dir)
		must(t, err)
		return len(list)
	}
	f, err := fsx.Temp(dir)
	must(t, err)
	if runtime.GOOS != "windows" && names() != 0 {
		t.Error("the file has a name")
	}
	if _, err := f.WriteString("some bytes"); err != nil {
		t.Error(err)
	}
	buf := make([]byte, 5)
	if _, err := f.ReadAt(buf, 5); err != nil || string(buf) != "bytes" {
		t.Errorf("read %q, %v", buf, err)
	}
	f.Discard()
	f.Discard()
	if names() != 0 {
		t.Error("the file was left behind")
	}
	if _, err := fsx.Temp(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
