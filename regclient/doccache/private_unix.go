//go:build unix

package doccache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openNothingElse makes an open fail for what has become a link since it was looked at, and
// return for what has become a pipe.
const openNothingElse = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// private checks that the file is of this user alone. The error is errDamaged if it may be
// replaced.
func private(path string, info fs.FileInfo) error {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return errDamaged
	}
	return nil
}
