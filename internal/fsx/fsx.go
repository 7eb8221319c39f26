// Package fsx writes files so that a reader sees the old file or the whole new
// one, never a part, whenever the process or the machine dies.
//
// A new file is written beside its target under an unpredictable name, synced,
// renamed onto the target, and the directory is synced. What is left behind when
// the process is killed starts with [TempPrefix].
//
// Processes that share a directory take turns with a [Lock].
package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// TempPrefix starts the name of every file that is not finished. The leading dot
// keeps it out of shell patterns and out of the CLI's scan of mirror directories.
const TempPrefix = ".tofureg-"

// ErrNotAFile: the target exists and is neither a regular file nor a symbolic
// link, so it is not replaced.
var ErrNotAFile = errors.New("exists and is not a regular file")

// File is a file that has not got its name yet. Commit gives it the name;
// Discard, deferred, removes it if Commit was not reached.
type File struct {
	*os.File
	target string
	done   bool
}

// Create opens a new file beside target for writing and reading. It has the mode
// perm less the umask from the start, and after Commit.
//
// A target that is a directory, a device, a pipe or a socket is refused with
// ErrNotAFile. Where target is a symbolic link, Commit replaces the link, not
// what it points to.
func Create(target string, perm fs.FileMode) (*File, error) {
	if err := replaceable(target); err != nil {
		return nil, err
	}
	const tries = 100
	dir := filepath.Dir(target)
	for range tries {
		// The generator is seeded by the system, so nobody can plant the name.
		name := filepath.Join(dir, TempPrefix+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &File{File: f, target: target}, nil
	}
	return nil, &fs.PathError{Op: "create a temporary file in", Path: dir, Err: fs.ErrExist}
}

// Commit syncs the file and puts it in the place of the target. After an error
// the target is as it was, unless only the last step, syncing the directory,
// failed. The file is closed in any case. On Windows, Commit fails while another
// program has the target open.
func (f *File) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	defer f.Discard()
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := replaceable(f.target); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.target); err != nil {
		return err
	}
	f.done = true
	return SyncDir(filepath.Dir(f.target))
}

// Discard closes and removes the file. After Commit it does nothing.
func (f *File) Discard() {
	if f.done {
		return
	}
	f.done = true
	// Windows removes only what is closed.
	f.Close()
	os.Remove(f.Name())
}

// WriteFile puts data into the file at target, as Create and Commit do.
func WriteFile(target string, data []byte, perm fs.FileMode) error {
	f, err := Create(target, perm)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// replaceable refuses what a rename would destroy, or fail at, only after all
// the work is done.
func replaceable(target string) error {
	if target == "" || os.IsPathSeparator(target[len(target)-1]) {
		return &fs.PathError{Op: "replace", Path: target, Err: fs.ErrInvalid}
	}
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if t := info.Mode().Type(); t != 0 && t != fs.ModeSymlink {
		return fmt.Errorf("replace %s: %w", target, ErrNotAFile)
	}
	return nil
}
