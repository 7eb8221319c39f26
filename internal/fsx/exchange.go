//go:build linux || darwin

package fsx

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// exchange makes two names change places at once. The error is errors.ErrUnsupported
// where the file system cannot do that.
func exchange(a, b string) error { return exchangeAt(unix.AT_FDCWD, a, unix.AT_FDCWD, b) }

// exchangeIn is exchange for names in root.
func exchangeIn(root *os.Root, a, b string) error {
	adir, err := root.Open(filepath.Dir(a))
	if err != nil {
		return err
	}
	defer adir.Close()
	bdir, err := root.Open(filepath.Dir(b))
	if err != nil {
		return err
	}
	defer bdir.Close()
	return exchangeAt(int(adir.Fd()), filepath.Base(a), int(bdir.Fd()), filepath.Base(b))
}
