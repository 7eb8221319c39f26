// Package fsx writes files and directories as a whole, and locks between processes. A reader sees the old file or the
// complete new one, even if the process is killed or the power fails.
//
//	p, err := fsx.CreatePart(path, 0o644)
//	defer p.Discard()
//	_, err = io.Copy(p, r)
//	err = p.Commit()
//
// A new file is written beside its target under a name of its own, synced, renamed to the target, and
// the directory is synced. Files that a killed process leaves start with [TempPrefix]; the next part of the target, or [SweepParts],
// removes them. A [Lock] coordinates processes that share a directory.
package fsx

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/internal/fault"
)

// TempPrefix starts the names of unfinished files. Shell patterns and the CLI's scan of mirror
// directories ignore names with a leading dot.
const TempPrefix = ".tofureg-"

// WriteFile writes data to the file at target with [CreatePart] and Commit.
func WriteFile(target string, data []byte, perm fs.FileMode) error {
	p, err := CreatePart(target, perm)
	if err != nil {
		return err
	}
	return p.writeAll(data)
}

// WriteFileIn writes data to a file of root.
func WriteFileIn(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	p, err := CreatePartIn(root, ".", perm)
	if err != nil {
		return err
	}
	p.target = name
	return p.writeAll(data)
}

func (p *Part) writeAll(data []byte) error {
	defer p.Discard()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}

// Update replaces the file at target by data, as [CreatePart] does. An existing
// file keeps its mode, a new one has mode 0644 less the umask. Nothing happens if the first max+1 bytes
// of an existing file are data, or keep returns true for them, or for nil if there is no file.
func Update(target string, data []byte, max int64, keep func(old []byte) bool) error {
	info, err := os.Lstat(target)
	perm, existing := fs.FileMode(0o644), err == nil && info.Mode().IsRegular()
	var old []byte
	if existing {
		perm = info.Mode().Perm()
		old, err = readStart(target, max)
	}
	if existing && err == nil && (bytes.Equal(old, data) || keep(old)) || errors.Is(err, fs.ErrNotExist) && keep(nil) {
		return nil
	}
	p, err := CreatePart(target, perm)
	if err != nil {
		return err
	}
	defer p.Discard()
	if existing { // undo the umask
		if err := p.Chmod(perm); err != nil {
			return err
		}
	}
	return p.writeAll(data)
}

// SyncTree syncs all regular files and directories below root, many at once, until ctx ends.
func SyncTree(ctx context.Context, root *os.Root) error {
	// Disks sync many at once more than ten times as fast as one after the other.
	var group errgroup.Group
	group.SetLimit(16) // also bounds the open files
	err := fs.WalkDir(Tree(ctx, root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return fault.Ended(ctx)
		case d.IsDir():
			group.Go(func() error { return SyncDirIn(root, name) })
		case d.Type().IsRegular():
			group.Go(func() error {
				f, err := root.OpenFile(name, os.O_RDWR, 0) // Windows syncs no other files
				if err != nil {
					return err
				}
				return errors.Join(f.Sync(), f.Close())
			})
		}
		return nil
	})
	if failed := group.Wait(); err == nil {
		err = failed
	}
	return err
}

// TempFile is a private temporary file.
type TempFile struct {
	*os.File
	named bool
}

// Temp creates a file in dir, or in [os.TempDir] if dir is empty, for writing and reading. Where
// the system allows it, the file has no name, so that a killed process leaves nothing behind.
func Temp(dir string) (*TempFile, error) {
	f, err := os.CreateTemp(dir, "tofureg-*.tmp")
	if err != nil {
		return nil, err
	}
	// Windows cannot remove an open file.
	return &TempFile{f, os.Remove(f.Name()) != nil}, nil
}

// Discard closes and removes the file. Calling it again has no effect.
func (f *TempFile) Discard() {
	f.Close()
	if f.named {
		retryChange(func() error { return os.Remove(f.Name()) })
		f.named = false
	}
}
