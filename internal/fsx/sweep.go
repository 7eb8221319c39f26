package fsx

import (
	"context"
	"io/fs"
	"os"
	"runtime"
)

// SweepParts removes each [Part] and [PartDir] in dir whose process has ended. Locks decide, not
// age. Symbolic links are not followed, and errors are ignored. It stops when ctx ends.
func SweepParts(ctx context.Context, dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	SweepPartsIn(ctx, root)
}

// SweepPartsIn is [SweepParts] for the top directory of root.
func SweepPartsIn(ctx context.Context, root *os.Root) {
	d, err := root.Open(".")
	if err != nil {
		return
	}
	defer d.Close()
	for {
		// In pieces, to bound memory.
		entries, err := d.ReadDir(1000)
		for _, e := range entries {
			if ctx.Err() != nil {
				return
			}
			if isPartName(e.Name()) {
				sweepPart(ctx, root, e)
			}
		}
		if err != nil {
			return
		}
	}
}

func sweepPart(ctx context.Context, root *os.Root, e fs.DirEntry) {
	if e.IsDir() {
		sweepDir(ctx, root, e.Name())
	}
	if !e.Type().IsRegular() {
		return
	}
	f, err := root.OpenFile(e.Name(), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if locked, err := TryLock(f); err == nil && locked {
		_ = root.Remove(e.Name()) // if its process has not locked it yet, that creates another
	}
}

// sweepDir removes a directory whose lock file is unlocked or missing. A process that has just
// created the directory then finds the lock taken, or no directory, and creates another.
func sweepDir(ctx context.Context, root *os.Root, name string) {
	part, err := root.OpenRoot(name)
	if err != nil {
		return
	}
	defer part.Close()
	if info, err := part.Lstat(partLock); err == nil && !info.Mode().IsRegular() {
		return // not a PartDir
	}
	f, err := part.OpenFile(partLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if locked, err := TryLock(f); err != nil || !locked {
		return
	}
	if runtime.GOOS == "windows" {
		// A directory with an open file cannot be renamed. That is so again if its process opens
		// the lock file now.
		f.Close()
		part.Close()
	}
	// Rename first: its process could create the lock file again while the rest is removed.
	if dead := partName(); root.Rename(name, dead) == nil {
		_ = RemoveTree(ctx, root, dead)
	}
}
