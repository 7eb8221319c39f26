package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Put renames the directory made, which is in d, to target beside d. An existing target moves into
// d and is removed with it; a symbolic link is not followed. If may is not nil, it is called with
// the old target; if it returns an error, Put restores the old target and returns the error. The
// caller syncs.
//
// On Linux and macOS the two are exchanged atomically if the file system supports it. Otherwise
// there is a moment without a target: a process that is killed in it leaves neither. After an error
// the old target is in place.
func (d *PartDir) Put(made, target string, may func(fs.FileInfo) error) error {
	return d.put(made, target, may, exchange)
}

func (d *PartDir) put(made, target string, may func(fs.FileInfo) error, exchange exchanger) error {
	_, err := put(d.root, filepath.Join(d.name, filepath.Base(made)), filepath.Base(target), d.name, may, exchange)
	return withPath(target, err)
}

// PutIn is [PartDir.Put] for names in root. made is in the directory private, and the old target
// moves into it. PutIn reports whether there was an old target.
func PutIn(root *os.Root, made, target, private string) (replaced bool, err error) {
	return put(root, made, target, private, nil, exchange)
}

// An exchanger is exchange, or a replacement in tests.
type exchanger func(in *os.Root, a, b string) error

func put(in *os.Root, made, target, private string, may func(fs.FileInfo) error, exchange exchanger) (replaced bool, err error) {
	for i := range partTries {
		switch err = exchange(in, made, target); {
		case err == nil:
			if err = checkOld(in, made, may); err == nil {
				return true, nil
			}
			back := exchange(in, made, target)
			if errors.Is(back, fs.ErrNotExist) {
				_, back = renameNew(in, made, target)
			}
			return false, errors.Join(err, back)
		case errors.Is(err, errors.ErrUnsupported):
			var moved, again bool
			moved, again, err = replaceInSteps(in, made, target, filepath.Join(private, fmt.Sprintf("old%d", i)), may)
			if replaced = replaced || moved; !again {
				return replaced, replacing(target, err)
			}
		case errors.Is(err, fs.ErrNotExist):
			var taken bool
			if taken, err = renameNew(in, made, target); !taken {
				return replaced, replacing(target, err)
			}
		default:
			return replaced, replacing(target, err)
		}
	}
	return replaced, replacing(target, err)
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

// replaceInSteps replaces target in two steps. moved reports whether there was an old target, again whether
// another process created target between the steps.
func replaceInSteps(in *os.Root, made, target, old string, may func(fs.FileInfo) error) (moved, again bool, err error) {
	err = retryChange(func() error { return in.Rename(target, old) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, false, err
	}
	moved = err == nil
	if moved {
		if err := checkOld(in, old, may); err != nil {
			return false, false, errors.Join(err, retryChange(func() error { return in.Rename(old, target) }))
		}
	}
	if again, err = renameNew(in, made, target); again || err == nil {
		return moved, again, err
	}
	if moved {
		err = errors.Join(err, retryChange(func() error { return in.Rename(old, target) }))
	}
	return false, false, err
}

// renameNew renames made to target if target does not exist. It reports whether target exists.
func renameNew(in *os.Root, made, target string) (taken bool, err error) {
	retryChange(func() error {
		err = in.Rename(made, target)
		if taken = err != nil && isTaken(in, target, err); taken {
			return nil // waiting would not help
		}
		return err
	})
	return taken, err
}

// isTaken reports whether a rename to path failed because path exists or existed.
func isTaken(in *os.Root, path string, err error) bool {
	_, there := in.Lstat(path)
	return errors.Is(err, fs.ErrExist) || there == nil
}
