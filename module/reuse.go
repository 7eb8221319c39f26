package module

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/verify"
)

// reuse returns the package at the target, if it is the one that is wanted, with the
// directory of loc in it; otherwise nil. Which directory that is may only be known once
// the registry, and a page, have been asked.
func (j *job) reuse(loc *Location) *pack {
	if !j.there {
		return nil
	}
	root := j.open(loc.Subdir)
	if root == nil {
		return nil
	}
	return &pack{root: root, h1: j.o.H1, reused: true}
}

// open opens the target if it has this directory. An empty one may be missing although
// the hash is right.
func (j *job) open(subdir string) *os.Root {
	root, err := openDir(j.target)
	if err != nil {
		return nil
	}
	if _, err := locate(root, subdir); err != nil {
		root.Close()
		return nil
	}
	return root
}

// has reports whether the target, which may be replaced, has the hash. The hash is
// computed from what is in the directory now, so it does not matter who has put it there
// and what has happened to it since. Whatever keeps it from being read is a no.
func (j *job) has(ctx context.Context, want verify.Hash) bool {
	if !j.o.Replace {
		return false
	}
	root, err := openDir(j.target)
	if err != nil {
		return false
	}
	defer root.Close()
	tree := interruptible{ctx, root.FS()}
	if j.checkSize(tree) != nil {
		return false
	}
	got, err := verify.H1Dir(tree)
	return err == nil && got == want
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
func openDir(path string) (*os.Root, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s: %w", path, ErrOccupied)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// interruptible is a tree that can be read until the context ends.
type interruptible struct {
	ctx  context.Context
	tree fs.FS
}

func (i interruptible) Open(name string) (fs.File, error) {
	if err := i.ctx.Err(); err != nil {
		return nil, err
	}
	return i.tree.Open(name)
}
