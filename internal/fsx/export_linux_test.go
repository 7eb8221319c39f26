package fsx

import (
	"os"
	"syscall"
)

// Classic is the lock of Unix systems other than Linux: fcntl locks of the process.
type Classic struct{ locks *processLocks }

func NewClassic() Classic {
	return Classic{&processLocks{lock: func(fd uintptr) (bool, error) { return setLock(fd, syscall.F_SETLK) }}}
}

// Try makes one attempt. It returns nil if another holder has the lock.
func (c Classic) Try(root *os.Root, name string) (*Lock, error) { return c.locks.open(root, name) }

// Held returns the number of held locks.
func (c Classic) Held() int { return len(c.locks.held) }
