package fsx

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Lock is an advisory lock that this process holds on a file: it keeps out those
// who ask for the lock of the same file, in this process or another one, and
// nobody else. The system gives it up when the process ends, however it ends, so
// a lock never outlives its holder.
//
// On Linux it is an open-file-description lock, which also excludes programs that
// use the classic fcntl locks; on other Unix systems it is flock, on Windows
// LockFileEx.
type Lock struct{ file *os.File }

// Pauses between two attempts. The kernel could wake us, but not when a context
// ends.
const (
	firstPause   = time.Millisecond
	longestPause = 25 * time.Millisecond
)

// AcquireLock waits until it has the lock of the file at path, or ctx ends. The
// file is made, with mode 0666 less the umask, if it is not there.
//
// The error is ctx's, that of opening the file, or errors.ErrUnsupported where the
// system has no such locks.
func AcquireLock(ctx context.Context, path string) (*Lock, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		l, err := tryAcquire(path)
		if l != nil || err != nil {
			return l, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// tryAcquire makes one attempt. Both results are nil if somebody else has the lock.
func tryAcquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	locked, err := TryLock(f)
	if err == nil && locked {
		// A holder may have removed the file after it was opened here; the lock
		// of a file without a name excludes nobody.
		locked, err = isAt(f, path)
	}
	if err != nil || !locked {
		f.Close()
		return nil, err
	}
	return &Lock{f}, nil
}

// Release gives up the lock and leaves the file.
func (l *Lock) Release() error { return l.file.Close() }

// Remove gives up the lock and removes its file, so that locks with many names
// leave none behind. Where others wait for the lock at this moment, Windows may
// keep the file.
func (l *Lock) Remove() error {
	if removesOpenFiles {
		// Before the lock is given up, or it could be that of the next holder.
		return errors.Join(os.Remove(l.file.Name()), l.file.Close())
	}
	name := l.file.Name()
	err := l.file.Close()
	os.Remove(name) // fails if somebody has it open
	return err
}

// TryLock asks for the lock of an open file and does not wait. It reports whether
// the lock was to be had. Closing f gives it up.
func TryLock(f *os.File) (bool, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var locked bool
	var lockErr error
	if err := conn.Control(func(fd uintptr) { locked, lockErr = tryLock(fd) }); err != nil {
		return false, err
	}
	if lockErr != nil {
		return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: lockErr}
	}
	return locked, nil
}

// isAt reports whether f is the file that path names.
func isAt(f *os.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}
