package module

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// reuse returns the package at the target, if it is the one that is wanted, with the
// directory of loc in it; otherwise nil. Which directory that is may only be known once
// the registry, and a page, have been asked.
func (j *job) reuse(loc *Location) *pack {
	if j.there == nil {
		return nil
	}
	root := j.open(j.there, loc.Subdir)
	if root == nil {
		return nil
	}
	return &pack{root: root, h1: j.o.H1, reused: true}
}

// open opens the target if it is still the directory that it was, and has this one in
// it. An empty one may be missing although the hash is right.
func (j *job) open(was fs.FileInfo, subdir string) *os.Root {
	root, is, err := openDir(j.target)
	if err != nil {
		return nil
	}
	if _, err := locate(root, subdir); err != nil || !os.SameFile(was, is) {
		root.Close()
		return nil
	}
	return root
}

// holds reports whether the target has the hash, and this directory in it.
func (j *job) holds(ctx context.Context, want checksum.Hash, subdir string) bool {
	is := j.find(ctx, want)
	if is == nil {
		return false
	}
	root := j.open(is, subdir)
	if root != nil {
		root.Close()
	}
	return root != nil
}

// find returns the target, which may be replaced, if it has the hash, otherwise nil. The
// hash is computed from what is in the directory now, so it does not matter who has put it
// there and what has happened to it since. What cannot be read does not have it.
func (j *job) find(ctx context.Context, want checksum.Hash) fs.FileInfo {
	if !j.o.Replace {
		return nil
	}
	root, is, err := openDir(j.target)
	if err != nil {
		return nil
	}
	defer root.Close()
	tree := fsx.Tree(ctx, root)
	if j.checkSize(tree) != nil {
		return nil
	}
	if got, err := checksum.H1Dir(ctx, tree); err != nil || got != want {
		return nil
	}
	return is
}

// checkSize refuses what is larger than any package that would be accepted.
func (j *job) checkSize(tree fs.FS) error {
	entries, size := 0, int64(0)
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entries++
		size += info.Size()
		if entries > j.limits.Entries || size > j.limits.Unpacked {
			return ErrTooLarge
		}
		return nil
	})
}

// openDir opens a directory, but none that a symbolic link leads to.
func openDir(path string) (*os.Root, fs.FileInfo, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s: %w", path, ErrOccupied)
	}
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, opened, nil
}
