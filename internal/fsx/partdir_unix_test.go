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
		must(t, err)
		var limit syscall.Rlimit
		must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
		none := limit
		assign(&none.Cur, next.Fd())
		next.Close()
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
		d, err := fsx.CreatePartDir(dir)
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%+v, %v; want EMFILE", d, err)
		}
		wantNames(t, dir)
	})
}

// assign hides that the type of the field depends on the system.
func assign[T int64 | uint64](to *T, n uintptr) { *to = T(n) }
