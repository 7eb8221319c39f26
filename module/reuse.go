package module

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// reuse returns the package at the target, if that was found to be the wanted one, is still
// the same directory, and has the directory of loc in it. Which directory that is may only be
// known once the registry, and a page, have been asked. Without a package reuse makes sure
// that there is a stage.
func (j *job) reuse(loc *Location) (*pack, error) {
	if j.there == nil {
		return nil, j.begin()
	}
	root, is, err := openDir(j.target)
	if err != nil {
		return nil, j.begin()
	}
	if _, err := locate(root, loc.Subdir); err != nil || !os.SameFile(j.there, is) {
		root.Close()
		return nil, j.begin()
	}
	return &pack{root: root, h1: j.o.H1, reused: true}, nil
}

// find returns the target if it may be replaced, has the hash, and has directory subdir in
// it, which may be missing although the hash is right if it is empty. Otherwise find returns
// nil. The hash is computed from what is in the directory now, so it does not matter who has
// put it there and what has happened to it since.
func (j *job) find(ctx context.Context, want checksum.Hash, subdir string) fs.FileInfo {
	if !j.o.Replace || want.IsZero() {
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
	if _, err := locate(root, subdir); err != nil {
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
