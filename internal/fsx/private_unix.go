//go:build unix

package fsx

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate returns an error unless only this user can access the directory.
func checkPrivate(path string, info fs.FileInfo) error {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("directory %s belongs to another user", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("directory %s has mode %v, want 0700", path, info.Mode())
	}
	return nil
}
