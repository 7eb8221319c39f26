package disktest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
)

func TestFull(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 100, func(t *testing.T, dir string) {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Errorf("as much as there is room for: %v", err)
		}
		if err := os.WriteFile(path, make([]byte, 101), 0o600); err == nil {
			t.Error("one byte more was written")
		}
	})
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, dir string) {
		path := filepath.Join(dir, "file")
		if data, err := os.ReadFile(path); err != nil || string(data) != "x" {
			t.Errorf("%q, %v", data, err)
		}
		if err := os.WriteFile(path, nil, 0o600); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the file was written: %v", err)
		}
		if err := os.Remove(path); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the file was removed: %v", err)
		}
	})
}
