//go:build !unix

package fsx

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Read refuses files that could keep it waiting.
func (r *contextReader) Read(p []byte) (int, error) {
	info, err := r.f.Stat()
	if err == nil && !info.Mode().IsRegular() && !strings.EqualFold(filepath.Base(r.f.Name()), os.DevNull) {
		err = &fs.PathError{Op: "read", Path: r.f.Name(), Err: ErrNotAFile}
	}
	if err != nil {
		return 0, err
	}
	return r.f.Read(p)
}
