package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Put renames made, a directory or link in d, to target, which is a name in the root of d, and reports
// whether there was an old target. The old target moves into d and is removed with it; a symbolic link
// is not followed. If may is not nil, it is called with the old target; if it returns an error, Put
// restores the old target and returns the error. The caller syncs.
//
// On Linux and macOS the two are exchanged atomically if the file system supports it. Otherwise
// there is a moment without a target: a process that is killed in it leaves neither. After an error
// the old target is in place.
func (d *PartDir) Put(made, target string, may func(fs.FileInfo) error) (replaced bool, err error) {
	return d.put(made, target, may, exchange)
}

func (d *PartDir) put(made, target string, may func(fs.FileInfo) error, exchange func(in *os.Root, a, b string) error) (replaced bool, err error) {
	made = filepath.Join(d.name, made)
	for i := range partTries {
		switch err = exchange(d.root, made, target); {
		case err == nil:
			if err = checkOld(d.root, made, may); err == nil {
				return true, nil
			}
			back := exchange(d.root, made, target)
			if errors.Is(back, fs.ErrNotExist) {
				_, back = renameNew(d.root, made, target)
			}
			return false, errors.Join(err, back)
		case errors.Is(err, errors.ErrUnsupported):
			old := filepath.Join(d.name, fmt.Sprintf("old%d", i))
			var moved, again bool
			moved, again, err = replaceInSteps(d.root, made, target, old, may)
			if replaced = replaced || moved; again {
				continue
			}
		case errors.Is(err, fs.ErrNotExist):
			var taken bool
			if taken, err = renameNew(d.root, made, target); taken {
				continue
			}
		}
		break
	}
	return replaced && err == nil, replacing(d.root, target, err)
}

// checkOld calls may with the old target, which has the name old now.
func checkOld(in *os.Root, old string, may func(fs.FileInfo) error) error {
	if may == nil {
		return nil
	}
	info, err := in.Lstat(old)
	if err != nil {
		return err
	}
	return may(info)
}

// replaceInSteps replaces target in two steps. moved reports whether there was an old target, again
// whether another process created target between the steps.
func replaceInSteps(in *os.Root, made, target, old string, may func(fs.FileInfo) error) (moved, again bool, err error) {
	err = retryChange(func() error { return in.Rename(target, old) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, false, err
	}
	if moved = err == nil; moved {
		err = checkOld(in, old, may)
	}
	if !moved || err == nil {
		if again, err = renameNew(in, made, target); again || err == nil {
			return moved, again, err
		}
	}
	if moved {
		err = errors.Join(err, retryChange(func() error { return in.Rename(old, target) }))
	}
	return false, false, err
}

// renameNew renames made to target if target does not exist. It reports whether target exists.
func renameNew(in *os.Root, made, target string) (taken bool, err error) {
	retryChange(func() error {
		if err = in.Rename(made, target); err == nil {
			return nil
		}
		_, there := in.Lstat(target)
		if taken = errors.Is(err, fs.ErrExist) || there == nil; taken {
			return nil // waiting would not help
		}
		return err
	})
	return taken, err
}
