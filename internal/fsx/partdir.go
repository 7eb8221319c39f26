package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// partLock is the file in a part that is a directory, whose lock tells that the part is
// alive.
const partLock = "lock"

// PartDir is a private directory in which something is made before it gets its name. It
// is locked until it is discarded, so that [SweepParts] tells it from those that dead
// processes have left behind.
type PartDir struct {
	root *os.Root // the directory that it is in
	name string
	lock *os.File // nil: no locks here
}

// CreatePartDir makes a new directory, of mode 0700, in dir. Its file "lock" is taken. Where
// the file system has no locks it has none; then nobody sweeps there either.
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

// newPartDir makes one attempt. Both results are nil if a sweep came between.
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
		return d, nil // no locks here
	}
	// It had no lock for a moment, in which another process may have removed it.
	if there, err := isAt(f, root.Stat, lock); locked && err == nil && there {
		d.lock = f
		return d, nil
	}
	f.Close() // the holder of the lock removes the rest as well
	return nil, nil
}

// Path returns the path of the directory.
func (d *PartDir) Path() string { return filepath.Join(d.root.Name(), d.name) }

// Discard removes the directory and all that is in it by now.
func (d *PartDir) Discard() {
	if d.lock != nil && !removesOpenFiles {
		d.lock.Close()
	}
	_ = RemoveTree(d.root, d.name)
	if d.lock != nil {
		d.lock.Close()
	}
	d.root.Close()
}
