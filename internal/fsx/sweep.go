package fsx

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// SweepParts removes each [Part] and [PartDir] in dir whose process has ended without
// removing it. One that is alive is never touched, whichever process it belongs to, and
// neither is anything else: the locks that the system gives up with a process decide, not
// age. Symbolic links are not followed. What cannot be removed stays.
//
// Windows removes nothing that is open, which decides there, and what is younger than an
// hour stays.
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
		// In pieces, since there may be a great many.
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
		// No locks, and nothing else that tells who is alive.
	case e.Type().IsRegular():
		f, err := root.OpenFile(e.Name(), os.O_RDWR, 0)
		if err != nil {
			return
		}
		defer f.Close()
		if locked, err := TryLock(f); err == nil && locked {
			_ = root.Remove(e.Name()) // its maker, if alive, begins anew
		}
	case e.IsDir():
		sweepDir(root, e.Name())
	}
}

// sweepDir removes a directory whose lock is to be had, or was never made: whoever has
// just made the directory and comes to lock it then finds the lock taken, or no directory.
func sweepDir(root *os.Root, name string) {
	part, err := root.OpenRoot(name)
	if err != nil {
		return
	}
	defer part.Close()
	if info, err := part.Lstat(partLock); err == nil && !info.Mode().IsRegular() {
		return // not of our making
	}
	f, err := part.OpenFile(partLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if locked, err := TryLock(f); err != nil || !locked {
		return
	}
	// Under another name first: its maker could find the lock removed and make it anew
	// while the rest is still being removed.
	if dead := partName(); root.Rename(name, dead) == nil {
		_ = RemoveTree(root, dead)
	}
}

// sweepClosed removes what nobody has open, on systems that see to it.
func sweepClosed(root *os.Root, e fs.DirEntry) {
	switch {
	case e.Type().IsRegular():
		_ = root.Remove(e.Name())
	case e.IsDir():
		// The rest of the directory must not go before its lock does.
		err := root.Remove(e.Name() + string(os.PathSeparator) + partLock)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			_ = RemoveTree(root, e.Name())
		}
	}
}
