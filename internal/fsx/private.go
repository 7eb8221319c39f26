package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenPrivateDir opens the directory name in dir, and creates both if they do not exist. It fails unless
// only this user can access the directory, where file modes tell that. It does not follow a symbolic
// link out of dir.
func OpenPrivateDir(dir, name string) (*os.Root, error) {
	root, err := openIn(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
		root, err = openIn(dir, name)
	}
	if err != nil {
		return nil, err
	}
	if err := CheckPrivate(root); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func openIn(dir, name string) (*os.Root, error) {
	parent, err := OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return OpenRootIn(parent, name)
}

// CheckPrivate returns an error unless only this user can access the directory, where file modes tell
// that.
func CheckPrivate(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	return checkPrivate(filepath.Clean(root.Name()), info)
}
