package fsx

import (
	"errors"
	"os"
	"syscall"
)

const removesOpenFiles = true

// fcntlOFDSetLock is F_OFD_SETLK, the same on all architectures. Unlike F_SETLK, the
// lock belongs to the open file and not to the process: it excludes goroutines too,
// and is not lost when some other descriptor of the file is closed. Each of the two
// kinds excludes the other.
const fcntlOFDSetLock = 37

func openLocked(root *os.Root, name string) (*Lock, error) { return openOwn(root, name) }

func tryLock(fd uintptr) (bool, error) { return setLock(fd, fcntlOFDSetLock) }

// setLock asks for a lock of the whole file.
func setLock(fd uintptr, cmd int) (bool, error) {
	whole := syscall.Flock_t{Type: syscall.F_WRLCK}
	for {
		err := syscall.FcntlFlock(fd, cmd, &whole)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
