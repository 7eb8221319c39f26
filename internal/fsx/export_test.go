package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// PutInSteps is [PartDir.Put] on file systems that cannot exchange names.
func (d *PartDir) PutInSteps(made, target string, may func(fs.FileInfo) error) (replaced bool, err error) {
	return d.put(made, target, may, func(*os.Root, string, string) error { return errors.ErrUnsupported })
}

// Die releases the lock, as the system does when the process ends.
func (d *PartDir) Die() { d.lock.Close() }
