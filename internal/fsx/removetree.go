package fsx

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes name in root. If necessary, it makes the directories in it writable.
func RemoveTree(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if err == nil {
		return nil
	}
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = root.Chmod(filepath.FromSlash(path), 0o700) // before it is read
		}
		return nil
	})
	return root.RemoveAll(name)
}
