//go:build !linux && !darwin

package fsx

import (
	"errors"
	"os"
)

func exchange(a, b string) error { return errors.ErrUnsupported }

func exchangeIn(root *os.Root, a, b string) error { return errors.ErrUnsupported }
