package fsx

import "errors"

// PutInSteps is [PartDir.Put] where names cannot be exchanged.
func (d *PartDir) PutInSteps(made, target string) error {
	return d.put(made, target, func(string, string) error { return errors.ErrUnsupported })
}
