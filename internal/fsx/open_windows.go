package fsx

import (
	"io/fs"
	"os"
	"syscall"
)

const noBlock = 0

// openNoLink is os.OpenFile for what is no symbolic link.
func openNoLink(name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, flag|syscall.FILE_FLAG_OPEN_REPARSE_POINT, perm)
	if err != nil {
		return nil, err
	}
	// It may be the link itself.
	info, err := f.Stat()
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotAFile}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
