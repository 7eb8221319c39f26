//go:build unix

package doccache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private checks that the directory is accessible to this user only.
func private(path string, info fs.FileInfo) error {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s has mode %v, want 0700", path, info.Mode())
	}
	return nil
}
