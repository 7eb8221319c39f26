//go:build !windows

package fsx

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir syncs a directory. It ignores that a file system cannot sync directories.
func SyncDir(dir string) error { return syncDir(os.Open(dir)) }

// SyncDirIn is [SyncDir] for a directory of root.
func SyncDirIn(root *os.Root, dir string) error { return syncDir(root.Open(dir)) }

func syncDir(d *os.File, err error) error {
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
