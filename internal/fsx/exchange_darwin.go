package fsx

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchangeAt exchanges names in open directories.
func exchangeAt(adir int, a string, bdir int, b string) error {
	err := unix.RenameatxNp(adir, a, bdir, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}
