//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package fsx

import (
	"errors"
	"os"
	"syscall"
)

const removesOpenFiles = true

// perProcess knows the fcntl locks of this process: there is one set of them for a
// process, whatever part of it asks.
var perProcess = classic{lock: setLock}

func openLocked(root *os.Root, name string) (*Lock, error) { return perProcess.open(root, name) }

// tryLock takes a flock, which belongs to the open file.
func tryLock(fd uintptr) (bool, error) {
	return attempt(func() error { return syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) })
}

func setLock(fd uintptr) (bool, error) {
	whole := syscall.Flock_t{Type: syscall.F_WRLCK}
	return attempt(func() error { return syscall.FcntlFlock(fd, syscall.F_SETLK, &whole) })
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
