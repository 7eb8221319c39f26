//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package fsx

import (
	"os"
	"syscall"
)

// perProcess has the fcntl locks of this process.
var perProcess = processLocks{lock: func(fd uintptr) (bool, error) { return setLock(fd, syscall.F_SETLK) }}

func openLocked(root *os.Root, name string) (*Lock, error) { return perProcess.open(root, name) }

// tryLock takes a flock, which belongs to the open file.
func tryLock(fd uintptr) (bool, error) {
	return attempt(func() error { return syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) })
}
