//go:build !linux && !darwin

package fsx

import (
	"errors"
	"os"
)

func exchange(root *os.Root, a, b string) error { return errors.ErrUnsupported }
