package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Put gives the directory made, which is in d, the name target, beside d. What has that
// name by now, if anything, goes into d and is removed with it; a symbolic link is not
// followed. The caller decides what may be replaced, and syncs.
//
// On Linux and macOS the two change places at once, if the file system can do that. In all
// other cases there is a moment with nothing at target: a process that is killed in it
// leaves neither. After an error what was at target is there.
func (d *PartDir) Put(made, target string) error { return d.put(made, target, exchange) }

func (d *PartDir) put(made, target string, exchange func(a, b string) error) error {
	var err error
	for i := range partTries {
		switch err = exchange(made, target); {
		case err == nil:
			return nil
		case errors.Is(err, errors.ErrUnsupported):
			var again bool
			if again, err = swap(made, target, filepath.Join(d.path, fmt.Sprintf("old%d", i))); !again {
				return replacing(target, err)
			}
		case errors.Is(err, fs.ErrNotExist):
			// Somebody may come before us.
			if err = os.Rename(made, target); err == nil || !isTaken(target, err) {
				return replacing(target, err)
			}
		default:
			return replacing(target, err)
		}
	}
	return replacing(target, err)
}

// swap is an exchange in two steps. It reports whether somebody else was there between
// them, and it is worth another try.
func swap(made, target, old string) (again bool, err error) {
	moved := os.Rename(target, old)
	if moved != nil && !errors.Is(moved, fs.ErrNotExist) {
		return false, moved
	}
	if err = os.Rename(made, target); err == nil {
		return false, nil
	}
	if isTaken(target, err) {
		return true, err
	}
	if moved == nil {
		err = errors.Join(err, os.Rename(old, target))
	}
	return false, err
}

// isTaken reports whether a rename to the path has failed since something is, or was, there.
func isTaken(path string, err error) bool {
	_, there := os.Lstat(path)
	return errors.Is(err, fs.ErrExist) || there == nil
}
