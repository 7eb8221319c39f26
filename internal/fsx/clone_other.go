//go:build !linux

package fsx

import (
	"errors"
	"os"
)

// Clone is not to be had here.
func Clone(dst, src *os.File) error { return errors.ErrUnsupported }
