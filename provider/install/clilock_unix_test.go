//go:build unix

package install_test

import (
	"os"
	"syscall"
)

// lockAsCLI takes the lock of a file as the CLI does: a classic one, of the process.
func lockAsCLI(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return syscall.FcntlFlock(f.Fd(), syscall.F_SETLKW, &syscall.Flock_t{Type: syscall.F_WRLCK})
}
