//go:build unix

package disktest

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

func available(*testing.T) {}

// limited bounds the size of each file that this process writes. What is more fails with
// EFBIG, as ENOSPC does on a full disk.
func limited(t *testing.T, limit int64) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &r); err != nil {
		t.Fatal(err)
	}
	before := r
	assign(&r.Cur, limit)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what measures coverage writes at the end
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	})
}

// assign hides that the fields have not the same type everywhere.
func assign[T int64 | uint64](to *T, n int64) { *to = T(n) }

// powerless gives up the rights of root.
func powerless(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	if err := syscall.Setgroups(nil); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setgid(nobody); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setuid(nobody); err != nil {
		t.Fatal(err)
	}
}

// closed takes away the right to write to dir and all below it, until the end of the test,
// and lets everybody read it.
func closed(t *testing.T, dir string) {
	t.Helper()
	change := func(dirs, files os.FileMode) {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir():
				return os.Chmod(path, dirs)
			case d.Type().IsRegular() && files != 0:
				return os.Chmod(path, files)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	change(0o555, 0o444)
	t.Cleanup(func() { change(0o755, 0) })
}
