package fsx

import (
	"errors"
	"os"
)

// PutInSteps is [PartDir.Put] where names cannot be exchanged.
func (d *PartDir) PutInSteps(made, target string) error {
	return d.put(made, target, unsupported)
}

// PutInInSteps is [PutIn] where names cannot be exchanged.
func PutInInSteps(root *os.Root, made, target, private string) (replaced bool, err error) {
	return put(root, made, target, private, unsupported)
}

func unsupported(string, string) error { return errors.ErrUnsupported }
