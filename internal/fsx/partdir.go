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
	path string
	lock *os.File // nil: no locks here
}

// CreatePartDir makes a new directory, of mode 0700, in dir. Its file "lock" is taken. Where
// the file system has no locks it has none; then nobody sweeps there either.
func CreatePartDir(dir string) (*PartDir, error) {
	for range partTries {
		path := filepath.Join(dir, partName())
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, creating(dir, err)
		}
		f, err := anywhere{}.OpenFile(filepath.Join(path, partLock), os.O_RDWR|os.O_CREATE, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody sweeps
		}
		if err != nil {
			os.Remove(path)
			return nil, creating(dir, err)
		}
		locked, err := TryLock(f)
		if err != nil {
			f.Close()
			return &PartDir{path: path}, nil // no locks here
		}
		// It had no lock for a moment, in which somebody may have removed it.
		if there, err := isIn(f, anywhere{}, f.Name()); locked && err == nil && there {
			return &PartDir{path, f}, nil
		}
		f.Close() // who has the lock removes the rest as well
	}
	return nil, &fs.PathError{Op: "create a temporary directory in", Path: dir, Err: fs.ErrExist}
}

// Path returns the path of the directory.
func (d *PartDir) Path() string { return d.path }

// Discard removes the directory and all that is in it by now.
func (d *PartDir) Discard() {
	if d.lock != nil && !removesOpenFiles {
		d.lock.Close()
	}
	if os.RemoveAll(d.path) != nil {
		if root, err := os.OpenRoot(filepath.Dir(d.path)); err == nil {
			_ = RemoveTree(root, filepath.Base(d.path))
			root.Close()
		}
	}
	if d.lock != nil {
		d.lock.Close()
	}
}
