//go:build !unix

package workdir

import (
	"errors"
	"runtime"
	"syscall"
)

const (
	noBlock     = 0
	asDirectory = ""
)

// isInUse reports whether another process has the file open in such a way that this one must wait.
func isInUse(err error) bool {
	const sharingViolation = syscall.Errno(32)
	return runtime.GOOS == "windows" && errors.Is(err, sharingViolation)
}
