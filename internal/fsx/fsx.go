// Package fsx writes files so that a reader sees the old file or the whole new
// one, never a part, whenever the process or the machine dies.
//
// A new file is written beside its target under an unpredictable name, synced,
// renamed onto the target, and the directory is synced. What is left behind when
// the process is killed starts with [TempPrefix], and [SweepParts] removes it.
//
// Processes that share a directory take turns with a [Lock].
package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// TempPrefix starts the name of every file that is not finished. The leading dot
// keeps it out of shell patterns and out of the CLI's scan of mirror directories.
const TempPrefix = ".tofureg-"

// ErrNotAFile: the target exists and is neither a regular file nor a symbolic
// link, so it is not replaced.
var ErrNotAFile = errors.New("exists and is not a regular file")

// WriteFile puts data into the file at target, as CreatePart and Commit do.
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

// replaceable refuses what a rename would destroy, or fail at, only after all
// the work is done.
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
