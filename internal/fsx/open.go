package fsx

import (
	"fmt"
	"os"
)

// OpenRegular opens a file for reading. What is no regular file, nor a link to one, is
// refused with ErrNotAFile; a pipe is not waited for.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, ErrNotAFile)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
