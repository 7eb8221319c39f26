//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package fsx

import "errors"

const removesOpenFiles = false

func openLocked(at place, name string) (*Lock, error) { return openOwn(at, name) }

func tryLock(uintptr) (bool, error) { return false, errors.ErrUnsupported }
