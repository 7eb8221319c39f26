package disktest

import (
	"os"
	"path/filepath"
	"testing"
)

// Elsewhere returns a new directory on another file system than t.TempDir, and a link to it.
func Elsewhere(t *testing.T) (dir, link string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tofureg")
	if err != nil {
		t.Skip("skipped: /dev/shm is missing")
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	link = filepath.Join(t.TempDir(), "link")
	if err := Symlink(dir, link); err != nil {
		t.Skipf("skipped: this link cannot be made here: %v", err)
	}
	return dir, link
}
