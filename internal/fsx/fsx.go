// Package fsx writes files atomically: a reader sees the old file or the complete new one, even if
// the process is killed or the power fails.
//
//	p, err := fsx.CreatePart(path, 0o644)
//	defer p.Discard()
//	_, err = io.Copy(p, r)
//	err = p.Commit()
//
// A new file is written beside its target under a random name, synced, renamed to the target, and
// the directory is synced. Files that a killed process leaves start with [TempPrefix]; [SweepParts]
// removes them. A [Lock] coordinates processes that share a directory.
package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// TempPrefix starts the names of unfinished files. Shell patterns and the CLI's scan of mirror
// directories ignore names with a leading dot.
const TempPrefix = ".tofureg-"

// ErrNotAFile: the file is not a regular file. A target to replace may also be a symbolic link.
var ErrNotAFile = errors.New("exists and is not a regular file")

// WriteFile writes data to the file at target with [CreatePart] and Commit.
func WriteFile(target string, data []byte, perm fs.FileMode) error {
	p, err := CreatePart(target, perm)
	if err != nil {
		return err
	}
	defer p.Discard()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}

// replaceable returns an error if target must not be replaced, before work is wasted.
func replaceable(root *os.Root, target string) error {
	info, err := root.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if t := info.Mode().Type(); t != 0 && t != fs.ModeSymlink {
		return fmt.Errorf("replace %s: %w", filepath.Join(root.Name(), target), ErrNotAFile)
	}
	return nil
}
