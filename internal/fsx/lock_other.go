//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package fsx

import (
	"errors"
	"os"
)

func openLocked(root *os.Root, name string) (*Lock, error) { return openOwn(root, name) }

func tryLock(uintptr) (bool, error) { return false, errors.ErrUnsupported }
