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
	"cmp"
	"context"
	"io/fs"
	"iter"
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
	defer p.Discard()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}

// SyncDirs calls [SyncDirIn] for directories of root, until ctx ends.
func SyncDirs(ctx context.Context, root *os.Root, dirs iter.Seq[string]) error {
	// Disks sync many at once more than ten times as fast as one after the other.
	var group errgroup.Group
	group.SetLimit(16)
	for dir := range dirs {
		if ctx.Err() != nil {
			return cmp.Or(group.Wait(), fault.Ended(ctx))
		}
		group.Go(func() error { return SyncDirIn(root, dir) })
	}
	return group.Wait()
}
