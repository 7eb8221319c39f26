package fsx

import (
	"os"
	"syscall"
)

// Classic is the lock of systems other than Linux and Windows: fcntl locks of the process.
type Classic struct{ locks *classic }

func NewClassic() Classic {
	return Classic{&classic{lock: func(fd uintptr) (bool, error) { return setLock(fd, syscall.F_SETLK) }}}
}

// Try makes one attempt; nil: somebody else has the lock.
func (c Classic) Try(root *os.Root, name string) (*Lock, error) { return c.locks.open(root, name) }

// Held returns how many locks are known to be held.
func (c Classic) Held() int { return len(c.locks.held) }
