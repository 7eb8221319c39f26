//go:build unix

package fsx_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/fsx"
)

// TestPartDirWithoutLock: if the lock file cannot be opened, CreatePartDir fails, since another
// process could sweep the directory.
func TestPartDirWithoutLock(t *testing.T) {
	t.Parallel()
	// In another process, since the limit of open files affects all tests.
	disktest.Full(t, 1<<20, func(t *testing.T, dir string) {
		next, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		none := limit
		assign(&none.Cur, next.Fd())
		next.Close()
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
			t.Fatal(err)
		}
		d, err := fsx.CreatePartDir(dir)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%+v, %v; want EMFILE", d, err)
		}
		wantNames(t, dir)
	})
}

// assign hides that the field has not the same type everywhere.
func assign[T int64 | uint64](to *T, n uintptr) { *to = T(n) }
