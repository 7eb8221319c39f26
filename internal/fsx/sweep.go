package fsx

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// SweepParts removes each [Part] and [PartDir] in dir whose process has ended. Locks decide, not
// age. Symbolic links are not followed, and errors are ignored.
//
// On Windows, where open files cannot be removed, it removes those that are older than an hour.
func SweepParts(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	SweepPartsIn(root)
}

// SweepPartsIn is [SweepParts] for the top directory of root.
func SweepPartsIn(root *os.Root) {
	d, err := root.Open(".")
	if err != nil {
		return
	}
	defer d.Close()
	for {
		// In pieces, to bound memory.
		entries, err := d.ReadDir(1000)
		for _, e := range entries {
			if isPartName(e.Name()) {
				sweepPart(root, e)
			}
		}
		if err != nil {
			return
		}
	}
}

func sweepPart(root *os.Root, e fs.DirEntry) {
	switch {
	case runtime.GOOS == "windows":
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			sweepClosed(root, e)
		}
	case !removesOpenFiles:
		// Without locks, a living process cannot be detected.
	case e.Type().IsRegular():
		f, err := root.OpenFile(e.Name(), os.O_RDWR, 0)
		if err != nil {
			return
		}
		defer f.Close()
		if locked, err := TryLock(f); err == nil && locked {
			_ = root.Remove(e.Name()) // if its process has not locked it yet, that creates another
		}
	case e.IsDir():
		sweepDir(root, e.Name())
	}
}

// sweepDir removes a directory whose lock file is unlocked or missing. A process that has just
// created the directory then finds the lock taken, or no directory, and creates another.
func sweepDir(root *os.Root, name string) {
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
	// Rename first: its process could create the lock file again while the rest is removed.
	if dead := partName(); root.Rename(name, dead) == nil {
		_ = RemoveTree(root, dead)
	}
}

// sweepClosed removes a part that no process has open, on systems that refuse to remove open files.
func sweepClosed(root *os.Root, e fs.DirEntry) {
	switch {
	case e.Type().IsRegular():
		_ = root.Remove(e.Name())
	case e.IsDir():
		// Remove the lock file first: it fails if the process lives.
		err := root.Remove(e.Name() + string(os.PathSeparator) + partLock)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			_ = RemoveTree(root, e.Name())
		}
	}
}
