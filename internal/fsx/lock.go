package fsx

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// Lock is an advisory lock that this process holds on a file: it keeps out those
// who ask for the lock of the same file, in this process or another one, and
// nobody else. The system gives it up when the process ends, however it ends, so
// a lock never outlives its holder.
//
// It is a lock of the kind that the CLI takes: fcntl on Unix, LockFileEx on Windows.
// On Linux it belongs to the open file; on other Unix systems, where it belongs to
// the process, a table keeps goroutines apart.
type Lock struct {
	file  *os.File
	close func() error
	root  *os.Root
	name  string
	path  string // empty if the caller has opened the root
}

// Pauses between two attempts. The kernel could wake us, but not when a context
// ends.
const (
	firstPause   = time.Millisecond
	longestPause = 25 * time.Millisecond
)

// mostDenied is how many attempts in a row may be denied access, a tenth of a second's worth,
// where that can mean that the file is just being removed.
const mostDenied = 8

// AcquireLock waits until it has the lock of the file at path, or ctx ends. It makes the
// file, with mode 0666 less the umask, if it does not exist. A symbolic link does not lead
// out of the directory of the file.
//
// The error is that of [fault.Ended], that of opening the file, or errors.ErrUnsupported
// where the system has no such locks.
func AcquireLock(ctx context.Context, path string) (*Lock, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	l, err := AcquireLockIn(ctx, root, filepath.Base(path))
	if err != nil {
		root.Close()
		return nil, at(path, err)
	}
	unlock := l.close
	l.path, l.close = path, func() error { return errors.Join(unlock(), root.Close()) }
	return l, nil
}

// AcquireLockIn is [AcquireLock] for a file in root, which must stay open as long as
// the lock is held.
func AcquireLockIn(ctx context.Context, root *os.Root, name string) (*Lock, error) {
	denied := 0
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		l, err := TryLockIn(root, name)
		if isDenied(err) && denied < mostDenied {
			denied++
			err = nil
		} else if err == nil {
			denied = 0
		}
		if l != nil || err != nil {
			return l, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fault.Ended(ctx)
		}
	}
}

// TryLockIn is [AcquireLockIn] without waiting: the lock is nil if another holder has it.
func TryLockIn(root *os.Root, name string) (*Lock, error) {
	l, err := openLocked(root, name)
	if l == nil || err != nil {
		return nil, err
	}
	// A holder may have removed the file after it was opened here; the lock of a
	// file without a name excludes nobody.
	if there, err := isAt(l.file, root.Stat, name); err != nil || !there {
		l.close()
		return nil, err
	}
	return l, nil
}

// openOwn is openLocked where a lock belongs to the open file.
func openOwn(root *os.Root, name string) (*Lock, error) {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if isInUse(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	locked, err := TryLock(f)
	if err != nil || !locked {
		f.Close()
		return nil, err
	}
	return &Lock{file: f, close: f.Close, root: root, name: name}, nil
}

// Release gives up the lock and leaves the file.
func (l *Lock) Release() error { return l.close() }

// Remove gives up the lock and removes its file, so that locks with many names
// leave none behind. Windows keeps the file where others wait for the lock at this
// moment, and one in an *os.Root in any case.
func (l *Lock) Remove() error {
	if removesOpenFiles {
		// Before the lock is given up, or it could be that of the next holder.
		return errors.Join(l.root.Remove(l.name), l.close())
	}
	err := l.close()
	if l.path != "" { // a root would remove it while it is open elsewhere
		os.Remove(l.path)
	}
	return err
}

// TryLock asks for a lock of an open file and does not wait. It reports whether the
// lock was to be had. Closing f gives it up.
//
// It excludes those who use TryLock for the same file. Outside Linux and Windows it is
// another lock than that of [AcquireLock].
func TryLock(f *os.File) (bool, error) { return control(f, tryLock) }

// control calls a lock function with the descriptor of f.
func control(f *os.File, lock func(fd uintptr) (bool, error)) (bool, error) {
	locked, err := lock(f.Fd())
	runtime.KeepAlive(f)
	if err != nil {
		return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return locked, nil
}

// isAt reports whether f is the file of this name.
func isAt(f *os.File, stat func(name string) (fs.FileInfo, error), name string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}
