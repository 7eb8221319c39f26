package module

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// reuse returns the package at the target if newJob found that it has Options.H1, if it is
// still the same directory, and if it contains the directory of loc, which may be known only
// after requests. Otherwise reuse ensures that there is a staging directory.
func (j *job) reuse(ctx context.Context, loc *Location) (*unpacked, error) {
	if j.match == nil {
		return nil, j.ensureStaging(ctx)
	}
	root, info, err := openDir(j.target)
	if err != nil {
		return nil, j.ensureStaging(ctx)
	}
	if _, err := findSubdir(root, loc.Subdir); err != nil || !os.SameFile(j.match, info) {
		root.Close()
		return nil, j.ensureStaging(ctx)
	}
	return &unpacked{root: root, h1: j.o.H1, reused: true}, nil
}

// findTarget returns the target if it may be replaced, has the hash, and contains the
// directory subdir. Otherwise it returns nil. An empty directory is not part of the hash, so
// it may be missing.
func (j *job) findTarget(ctx context.Context, want checksum.Hash, subdir string) fs.FileInfo {
	if !j.o.Replace || want.IsZero() {
		return nil
	}
	root, info, err := openDir(j.target)
	if err != nil {
		return nil
	}
	defer root.Close()
	tree := fsx.Tree(ctx, root)
	if j.checkSize(ctx, tree) != nil {
		return nil
	}
	if got, err := checksum.H1Dir(ctx, tree); err != nil || got != want {
		return nil
	}
	if _, err := findSubdir(root, subdir); err != nil {
		return nil
	}
	return info
}

// checkSize refuses a directory that is larger than any package that would be accepted.
func (j *job) checkSize(ctx context.Context, tree fs.FS) error {
	entries, size := 0, int64(0)
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entries++
		size += info.Size()
		if entries > j.limits.Entries || size > j.limits.Unpacked {
			return fault.ErrTooLarge
		}
		return nil
	})
}

// openDir opens a directory. It does not follow a symbolic link.
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
