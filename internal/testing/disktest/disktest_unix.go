//go:build unix

package disktest

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Mkfifo makes a pipe.
func Mkfifo(path string) error { return unix.Mkfifo(path, 0o600) } // syscall lacks it on Solaris

func skipUnlessSupported(*testing.T) {}

// limitFileSize limits the size of each file that this process writes. Exceeding it fails with
// EFBIG, instead of ENOSPC on a full disk.
func limitFileSize(t *testing.T, limit int64) {
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
	t.Cleanup(func() { // coverage data is written at the end
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	})
}

// assign hides that the type of the fields depends on the system.
func assign[T int64 | uint64](to *T, n int64) { *to = T(n) }

// dropRoot gives up the rights of root.
func dropRoot(t *testing.T) {
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

// makeReadOnly makes dir and everything in it read-only, and readable for all users, until the end
// of the test.
func makeReadOnly(t *testing.T, dir string) {
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
