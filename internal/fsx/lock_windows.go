package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func openLocked(root *os.Root, name string) (*Lock, error) { return openOwn(root, name) }

func tryLock(fd uintptr) (bool, error) {
	// Locks are mandatory on Windows. A lock on a byte beyond the content permits access to it.
	beyond := windows.Overlapped{Offset: 0xffff_fffe, OffsetHigh: 0x7fff_ffff}
	err := windows.LockFileEx(windows.Handle(fd), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &beyond)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return false, nil
	}
	return false, err
}
