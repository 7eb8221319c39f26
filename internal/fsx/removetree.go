package fsx

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/internal/fault"
)

// lateRemovals is the number of files and directories that RemoveTree removes after its context has
// ended. An ordinary package has fewer.
const lateRemovals = 100

// RemoveTree removes name in root. If necessary, it makes the directories in it writable. It follows
// no symbolic links.
//
// If ctx has ended, it removes at most 100 more files and directories. If anything is left then, the
// error is [fault.Ended], and a later sweep must remove the rest.
func RemoveTree(ctx context.Context, root *os.Root, name string) error {
	r := remover{ctx, lateRemovals}
	return fault.Printable(r.remove(root, name))
}

type remover struct {
	ctx  context.Context
	late int // removals still allowed after ctx has ended
}

// remove removes a file, or a directory with its content.
func (r *remover) remove(root *os.Root, name string) error {
	if r.ctx.Err() != nil {
		if r.late == 0 {
			return fault.Ended(r.ctx)
		}
		r.late--
	}
	info, err := root.Lstat(name)
	if err == nil && info.IsDir() {
		err = r.clear(root, name, info)
	}
	if err == nil {
		err = root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clear empties a directory.
func (r *remover) clear(root *os.Root, name string, was fs.FileInfo) error {
	if was.Mode().Perm()&0o700 != 0o700 {
		_ = root.Chmod(name, 0o700)
	}
	dir, err := OpenRootIn(root, name)
	if err != nil {
		return err
	}
	defer dir.Close() // Windows cannot remove an open directory
	if is, err := dir.Stat("."); err != nil || !os.SameFile(was, is) {
		return errors.Join(&fs.PathError{Op: "remove", Path: name, Err: errors.New("replaced meanwhile")}, err)
	}
	for {
		// Some file systems skip names if others are removed while they are read.
		names, err := firstNames(dir)
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			if err := r.remove(dir, name); err != nil {
				return err
			}
		}
	}
}

// firstNames returns some of the names in a directory, or none if it is empty.
func firstNames(dir *os.Root) ([]string, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, _ := d.Readdirnames(1000)
	return names, nil
}
