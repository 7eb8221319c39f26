package fsx

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tofureg/tofureg/internal/flight"
)

// Lock is an advisory lock on a file. Until Release, no other goroutine or process gets the lock of
// the same file. The system releases it when the process ends.
//
// The CLI takes locks of the same kind: fcntl on Unix, LockFileEx on Windows.
type Lock struct {
	file  *os.File
	close func() error
	root  *os.Root
	name  string
}

// Pauses between two attempts. A blocking call would not end with the context.
const (
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// mostDenied is the number of consecutive attempts, for about 0.1 s, that may be denied access
// because the file is being removed.
const mostDenied = 8

// AcquireLock waits for the lock of the file at path. It creates the file with mode 0666, less the
// umask, and follows no symbolic link out of its directory.
//
// The error is of [fault.Ended], of opening the file, or errors.ErrUnsupported if the
// system has no such locks.
func AcquireLock(ctx context.Context, path string) (*Lock, error) {
	root, err := OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	l, err := AcquireLockIn(ctx, root, filepath.Base(path))
	if err != nil {
		root.Close()
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			e.Path = path
		}
		return nil, err
	}
	unlock := l.close
	l.close = func() error { return errors.Join(unlock(), root.Close()) }
	return l, nil
}

// AcquireLockIn is [AcquireLock] for a file in root, which must stay open until Release.
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
		if err := flight.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// TryLockIn is [AcquireLockIn] without waiting. It returns nil if another holder has the lock.
func TryLockIn(root *os.Root, name string) (*Lock, error) {
	l, err := openLocked(root, name)
	if l == nil || err != nil {
		return nil, err
	}
	// A holder may have removed the file after it was opened here.
	if there, err := isAt(l.file, root.Stat, name); err != nil || !there {
		l.close()
		return nil, err
	}
	return l, nil
}

// openOwn implements openLocked for systems where a lock belongs to the open file.
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

// Release releases the lock. The file stays.
func (l *Lock) Release() error { return l.close() }

// Remove releases the lock and removes its file. On Windows the file stays if the CLI has it open.
func (l *Lock) Remove() error {
	// Removing the file after the release could remove the lock of the next holder.
	err := l.root.Remove(l.name)
	if isInUse(err) {
		err = nil
	}
	return errors.Join(err, l.close())
}

// TryLock locks an open file without waiting, and reports whether it has the lock. Closing f
// releases it. Outside Linux and Windows this lock is independent of the locks of [AcquireLock].
func TryLock(f *os.File) (bool, error) { return control(f, tryLock) }

// control calls lock with the descriptor of f.
func control(f *os.File, lock func(fd uintptr) (bool, error)) (bool, error) {
	locked, err := lock(f.Fd())
	runtime.KeepAlive(f)
	if err != nil {
		return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return locked, nil
}

// isAt reports whether f has this name.
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

// processLocks keeps the locks of this process where a lock belongs to the process and not to the open
// file. There the kernel grants a lock to every goroutine that asks, and drops it when the process
// closes any descriptor of the file. So processLocks remembers the locked files and never opens them
// again.
type processLocks struct {
	lock func(fd uintptr) (bool, error)
	mu   sync.Mutex
	held []fs.FileInfo
	kept []*os.File // never closed, which would drop another lock
}

// open opens and locks a file. It returns nil if another holder has the lock.
func (c *processLocks) open(root *os.Root, name string) (*Lock, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if info, err := root.Stat(name); err == nil && c.has(info) {
		return nil, nil
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || c.has(info) { // another process has renamed a locked file to name
		c.kept = append(c.kept, f)
		return nil, err
	}
	locked, err := control(f, c.lock)
	if err != nil || !locked {
		f.Close()
		return nil, err
	}
	c.held = append(c.held, info)
	return &Lock{file: f, close: func() error { return c.leave(info, f) }, root: root, name: name}, nil
}

func (c *processLocks) has(info fs.FileInfo) bool {
	return slices.ContainsFunc(c.held, func(other fs.FileInfo) bool { return os.SameFile(other, info) })
}

// leave closes f before other goroutines may ask for the lock, which closing f would drop.
func (c *processLocks) leave(info fs.FileInfo, f *os.File) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(other fs.FileInfo) bool { return os.SameFile(other, info) })
	return f.Close()
}
