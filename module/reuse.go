package module

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// reuse returns the package at the target, if that was found to be the wanted one and has
// the directory of loc in it. Which directory that is may only be known once the registry,
// and a page, have been asked.
func (j *job) reuse(loc *Location) (*pack, bool) {
	if j.there == nil {
		return nil, false
	}
	root, err := j.open(j.there, loc.Subdir)
	return &pack{root: root, h1: j.o.H1, reused: true}, err == nil
}

// open opens the target if it is still the directory that it was, and has this one in
// it. An empty one may be missing although the hash is right.
func (j *job) open(was fs.FileInfo, subdir string) (*os.Root, error) {
	root, is, err := openDir(j.target)
	if err != nil {
		return nil, err
	}
	_, err = locate(root, subdir)
	if err == nil && !os.SameFile(was, is) {
		err = ErrChanged
	}
	if err != nil {
		root.Close()
	}
	return root, err
}

// holds reports whether the target has the hash, and this directory in it.
func (j *job) holds(ctx context.Context, want checksum.Hash, subdir string) bool {
	is, ok := j.find(ctx, want)
	if !ok {
		return false
	}
	root, err := j.open(is, subdir)
	if err == nil {
		root.Close()
	}
	return err == nil
}

// find returns the target if it may be replaced and has the hash. The hash is computed from
// what is in the directory now, so it does not matter who has put it there and what has
// happened to it since. A directory that cannot be read does not have it.
func (j *job) find(ctx context.Context, want checksum.Hash) (fs.FileInfo, bool) {
	if !j.o.Replace {
		return nil, false
	}
	root, is, err := openDir(j.target)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	tree := fsx.Tree(ctx, root)
	if j.checkSize(tree) != nil {
		return nil, false
	}
	got, err := checksum.H1Dir(ctx, tree)
	return is, err == nil && got == want
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
