package fsx

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Clone makes dst, which is empty, share the content of src until either is written.
// It fails where the file system, or the two of them, cannot.
func Clone(dst, src *os.File) error {
	err := unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
	runtime.KeepAlive(dst)
	runtime.KeepAlive(src)
	return os.NewSyscallError("ficlone", err)
}
