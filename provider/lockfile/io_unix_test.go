//go:build unix

package lockfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/lockfile"
)

// TestSwappedForPipe puts a pipe where a lock file is about to be opened.
func TestSwappedForPipe(t *testing.T) {
	t.Parallel()
	for _, err := range disktest.Swapped(t, canonical, func(path string) error {
		_, err := lockfile.Load(path)
		return err
	}) {
		if !errors.Is(err, fsx.ErrNotAFile) {
			t.Errorf("%v, want ErrNotAFile", err)
		}
	}
}

// TestSymlink has a link that is followed to read, and replaced to write.
func TestSymlink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, target := filepath.Join(dir, lockfile.Name), filepath.Join(dir, "shared")
	must.Do(t, os.WriteFile(target, []byte(canonical), 0o600))
	must.Do(t, os.Symlink(target, link))
	f, err := lockfile.Load(link)
	if err != nil || f.Len() != 2 {
		t.Fatalf("%v, %d entries", err, f.Len())
	}
	f.Delete(alpha)
	must.Do(t, f.Save(link))
	if data, err := os.ReadFile(target); err != nil || string(data) != canonical {
		t.Errorf("%v, what the link pointed to is now\n%s", err, data)
	}
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() || info.Mode()&0o600 != 0o600 {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
}
