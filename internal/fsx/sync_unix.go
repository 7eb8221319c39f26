//go:build !windows

package fsx

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes the names in dir durable. File systems that cannot sync a
// directory are not at fault.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return syncDir(d)
}

// SyncDirIn is [SyncDir] for a directory of root.
func SyncDirIn(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return syncDir(d)
}

func syncDir(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
