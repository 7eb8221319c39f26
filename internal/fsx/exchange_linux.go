package fsx

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchangeAt exchanges names in open directories.
func exchangeAt(adir int, a string, bdir int, b string) error {
	err := unix.Renameat2(adir, a, bdir, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
