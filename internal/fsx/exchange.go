//go:build linux || darwin

package fsx

import (
	"os"
	"path/filepath"
)

// exchange exchanges two names in root atomically. It returns errors.ErrUnsupported if the file
// system cannot do that.
func exchange(root *os.Root, a, b string) error {
	adir, err := OpenIn(root, filepath.Dir(a))
	if err != nil {
		return err
	}
	defer adir.Close()
	bdir, err := OpenIn(root, filepath.Dir(b))
	if err != nil {
		return err
	}
	defer bdir.Close()
	return exchangeAt(int(adir.Fd()), filepath.Base(a), int(bdir.Fd()), filepath.Base(b))
}
