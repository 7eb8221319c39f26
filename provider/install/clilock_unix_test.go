//go:build unix

package install_test

import (
	"fmt"
	"os"
	"syscall"
)

// lockAsCLI locks a file as the CLI does: with a lock of the process, for which it waits with the
// file open. It does not check whether the file still has its name.
func lockAsCLI(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	fmt.Println("\nopened")
	return syscall.FcntlFlock(f.Fd(), syscall.F_SETLKW, &syscall.Flock_t{Type: syscall.F_WRLCK})
}
