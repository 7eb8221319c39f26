package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// PutInSteps is [PartDir.Put] on file systems that cannot exchange names.
func (d *PartDir) PutInSteps(made, target string, may func(fs.FileInfo) error) error {
	return d.put(made, target, may, unsupported)
}

// PutInInSteps is [PutIn] on file systems that cannot exchange names.
func PutInInSteps(root *os.Root, made, target, private string) (replaced bool, err error) {
	return put(root, made, target, private, nil, unsupported)
}

func unsupported(*os.Root, string, string) error { return errors.ErrUnsupported }
