package fsx

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// partLock is the locked file in a PartDir.
const partLock = "lock"

// PartDir is a private directory for files without their final names. It is locked, so that
// [SweepParts] does not remove it while its process lives.
type PartDir struct {
	root *os.Root // the parent directory
	name string
	lock *os.File // nil if the file system has no locks
}

// CreatePartDir creates a directory with mode 0700 in dir and locks its file "lock". If the file
// system has no locks, the directory is not locked, and no process sweeps.
func CreatePartDir(dir string) (*PartDir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, creating(dir, err)
	}
	for range partTries {
		d, err := newPartDir(root)
		if d != nil {
			return d, nil
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			root.Close()
			return nil, creating(dir, err)
		}
	}
	root.Close()
	return nil, creating(dir, fs.ErrExist)
}

// newPartDir makes one attempt. It returns nil without an error if another process swept the
// directory.
func newPartDir(root *os.Root) (*PartDir, error) {
	d := &PartDir{root: root, name: partName()}
	if err := root.Mkdir(d.name, 0o700); err != nil {
		return nil, err
	}
	lock := filepath.Join(d.name, partLock)
	f, err := root.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		root.Remove(d.name)
		return nil, err
	}
	locked, err := TryLock(f)
	if err != nil {
		f.Close()
		return d, nil // no locks on this file system
	}
	// Another process may have removed the file before it was locked.
	if there, err := isAt(f, root.Stat, lock); locked && err == nil && there {
		d.lock = f
		return d, nil
	}
	f.Close() // the holder of the lock removes the directory
	return nil, nil
}

// Path returns the path of the directory.
func (d *PartDir) Path() string { return filepath.Join(d.root.Name(), d.name) }

// Discard removes the directory with its content, as [RemoveTree] does. What is left if ctx has ended
// is removed by [SweepParts].
func (d *PartDir) Discard(ctx context.Context) {
	if d.lock != nil {
		d.lock.Close()
	}
	_ = RemoveTree(ctx, d.root, d.name)
	d.root.Close()
}
