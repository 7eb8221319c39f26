//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package fsx

import "errors"

const removesOpenFiles = false

func tryLock(uintptr) (bool, error) { return false, errors.ErrUnsupported }
