package fsx

import (
	"os"

	"golang.org/x/sys/unix"
)

// Clone makes dst, which is empty, share the content of src until either is written.
// It fails where the file system, or the two of them, cannot.
func Clone(dst, src *os.File) error {
	to, err := dst.SyscallConn()
	if err != nil {
		return err
	}
	from, err := src.SyscallConn()
	if err != nil {
		return err
	}
	var cloned error
	outer := to.Control(func(dst uintptr) {
		if err := from.Control(func(src uintptr) { cloned = unix.IoctlFileClone(int(dst), int(src)) }); err != nil {
			cloned = err
		}
	})
	if outer != nil {
		return outer
	}
	return os.NewSyscallError("ficlone", cloned)
}
