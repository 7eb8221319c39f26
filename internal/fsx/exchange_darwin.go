package fsx

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange makes two names change places at once. The error is errors.ErrUnsupported
// where the file system cannot do that.
func exchange(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}
