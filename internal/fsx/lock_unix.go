//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package fsx

import (
	"errors"
	"syscall"
)

// setLock asks for a lock of the whole file with the fcntl command cmd.
func setLock(fd uintptr, cmd int) (bool, error) {
	whole := syscall.Flock_t{Type: syscall.F_WRLCK}
	return attempt(func() error { return syscall.FcntlFlock(fd, cmd, &whole) })
}

func attempt(lock func() error) (bool, error) {
	for {
		err := lock()
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
