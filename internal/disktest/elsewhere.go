package disktest

import (
	"os"
	"path/filepath"
	"testing"
)

// Elsewhere returns a new directory on another file system than that of t.TempDir, and a
// link to it in a directory of the test.
func Elsewhere(t *testing.T) (dir, link string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tofureg")
	if err != nil {
		t.Skip("skipped: there is no second file system in memory here")
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	link = filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	return dir, link
}
