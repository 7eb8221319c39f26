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
// followed. If may is not nil and returns an error for what had the name, that keeps it, and
// Put returns the error. The caller syncs.
//
// On Linux and macOS the two change places at once, if the file system can do that. In all
// other cases there is a moment with nothing at target: a process that is killed in it
// leaves neither. After an error what was at target is there.
func (d *PartDir) Put(made, target string, may func(fs.FileInfo) error) error {
	return d.put(made, target, may, exchange)
}

func (d *PartDir) put(made, target string, may func(fs.FileInfo) error, exchange exchanger) error {
	_, err := put(d.root, filepath.Join(d.name, filepath.Base(made)), filepath.Base(target), d.name, may, exchange)
	return at(target, err)
}

// PutIn is [PartDir.Put] for names in root: private is the directory that made is in, and
// what had the name target before goes into it, under whatever name. It reports whether
// there was anything.
func PutIn(root *os.Root, made, target, private string) (replaced bool, err error) {
	return put(root, made, target, private, nil, exchange)
}

// An exchanger is exchange, or a replacement in tests.
type exchanger func(in *os.Root, a, b string) error

func put(in *os.Root, made, target, private string, may func(fs.FileInfo) error, exchange exchanger) (replaced bool, err error) {
	for i := range partTries {
		switch err = exchange(in, made, target); {
		case err == nil:
			if err = refused(in, made, may); err == nil {
				return true, nil
			}
			back := exchange(in, made, target)
			if errors.Is(back, fs.ErrNotExist) {
				_, back = settle(in, made, target)
			}
			return false, errors.Join(err, back)
		case errors.Is(err, errors.ErrUnsupported):
			var moved, again bool
			moved, again, err = swap(in, made, target, filepath.Join(private, fmt.Sprintf("old%d", i)), may)
			if replaced = replaced || moved; !again {
				return replaced, replacing(target, err)
			}
		case errors.Is(err, fs.ErrNotExist):
			var taken bool
			if taken, err = settle(in, made, target); !taken {
				return replaced, replacing(target, err)
			}
		default:
			return replaced, replacing(target, err)
		}
	}
	return replaced, replacing(target, err)
}

// refused asks may about what had the name of the target and has the name old now.
func refused(in *os.Root, old string, may func(fs.FileInfo) error) error {
	if may == nil {
		return nil
	}
	info, err := in.Lstat(old)
	if err != nil {
		return err
	}
	return may(info)
}

// swap is an exchange in two steps. It reports whether it has moved anything away, and
// whether somebody else was there between the two and it is worth another try.
func swap(in *os.Root, made, target, old string, may func(fs.FileInfo) error) (moved, again bool, err error) {
	err = retryChange(func() error { return in.Rename(target, old) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, false, err
	}
	moved = err == nil
	if moved {
		if err := refused(in, old, may); err != nil {
			return false, false, errors.Join(err, retryChange(func() error { return in.Rename(old, target) }))
		}
	}
	if again, err = settle(in, made, target); again || err == nil {
		return moved, again, err
	}
	if moved {
		err = errors.Join(err, retryChange(func() error { return in.Rename(old, target) }))
	}
	return false, false, err
}

// settle gives made a name that nothing has. It reports whether the error is that somebody
// has come before.
func settle(in *os.Root, made, target string) (taken bool, err error) {
	retryChange(func() error {
		err = in.Rename(made, target)
		if taken = err != nil && isTaken(in, target, err); taken {
			return nil // which is no reason to wait
		}
		return err
	})
	return taken, err
}

// isTaken reports whether a rename to the path has failed since something is, or was, there.
func isTaken(in *os.Root, path string, err error) bool {
	_, there := in.Lstat(path)
	return errors.Is(err, fs.ErrExist) || there == nil
}
