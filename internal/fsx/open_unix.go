//go:build unix

package fsx

import (
	"io/fs"
	"os"
	"syscall"
)

// noBlock keeps the opening of a pipe from waiting for somebody at its other end.
const noBlock = syscall.O_NONBLOCK

// openNoLink is os.OpenFile for what is no symbolic link.
func openNoLink(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag|syscall.O_NOFOLLOW, perm)
}
