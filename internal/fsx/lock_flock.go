//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package fsx

import (
	"errors"
	"syscall"
)

const removesOpenFiles = true

func tryLock(fd uintptr) (bool, error) {
	for {
		err := syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
