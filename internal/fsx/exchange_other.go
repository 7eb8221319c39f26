//go:build !linux && !darwin

package fsx

import "errors"

func exchange(a, b string) error { return errors.ErrUnsupported }
