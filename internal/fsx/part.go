package fsx

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const (
	partSuffix = ".part" // ends the names of parts
	partLock   = "lock"  // the locked file in a PartDir
	partTries  = 100     // attempts to create a part while other processes sweep
)

// ErrNotAFile: the file is not a regular file. A target to replace may also be a symbolic link.
var ErrNotAFile = errors.New("exists and is not a regular file")

// partName returns an unpredictable name.
func partName() string {
	return TempPrefix + strconv.FormatUint(rand.Uint64(), 36) + partSuffix
}

// isPartName reports whether partName can return name.
func isPartName(name string) bool {
	middle, ok := strings.CutPrefix(name, TempPrefix)
	middle, ok2 := strings.CutSuffix(middle, partSuffix)
	return ok && ok2 && middle != "" && strings.Trim(middle, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// newPart creates a file, or a directory with a lock file, under a random name in a directory of root.
// It returns the name and the locked file, which is not locked if the file system has no locks.
func newPart(root *os.Root, dir string, perm fs.FileMode, isDir bool) (name string, f *os.File, err error) {
	for range partTries {
		name = filepath.Join(dir, partName())
		locked, mode := name, perm
		if isDir {
			err = root.Mkdir(name, perm)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			if err != nil {
				break
			}
			locked, mode = filepath.Join(name, partLock), 0o666
		}
		f, err = root.OpenFile(locked, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) || isDir && errors.Is(err, fs.ErrNotExist) {
			continue // another process sweeps the directory
		}
		if err != nil {
			if isDir {
				root.Remove(name)
			}
			break
		}
		hasLock, err := TryLock(f)
		if err != nil {
			return name, f, nil // no locks on this file system
		}
		// Another process may have removed the file before it was locked.
		if there, err := isAt(f, root.Stat, locked); hasLock && err == nil && there {
			return name, f, nil
		}
		if !isDir { // the holder of its lock removes a directory
			root.Remove(name)
		}
		f.Close()
	}
	return "", nil, creating(filepath.Join(root.Name(), dir), cmp.Or(err, fs.ErrExist))
}

// Part is a file without its final name. Commit gives it the name; Discard removes it unless it has
// one. A part is locked, so that [SweepParts] does not remove it while its process lives.
type Part struct {
	*os.File
	root   *os.Root
	owned  bool // close root with the part
	name   string
	target string // in root; empty if made by CreatePartIn
	done   bool
}

// CreatePart creates a file beside target for writing and reading, with mode perm less the umask.
//
// It refuses a target that is a directory, device, pipe or socket with ErrNotAFile. If target is a
// symbolic link, Commit replaces the link and not its target. If the file system has no locks, the
// part is not locked, and no process sweeps.
func CreatePart(target string, perm fs.FileMode) (*Part, error) {
	dir, name := filepath.Split(target)
	if name == "" {
		return nil, &fs.PathError{Op: "replace", Path: target, Err: fs.ErrInvalid}
	}
	root, err := OpenRoot(cmp.Or(dir, "."))
	if err != nil {
		return nil, creating(filepath.Dir(target), err)
	}
	var p *Part
	if err = replaceable(root, name); err == nil { // before work is wasted
		p, err = CreatePartIn(root, ".", perm)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	p.owned, p.target = true, name
	return p, nil
}

// CreatePartIn creates a file in a directory of root, which must stay open until Discard.
// [Part.PublishAs] gives it a name in root.
func CreatePartIn(root *os.Root, dir string, perm fs.FileMode) (*Part, error) {
	name, f, err := newPart(root, dir, perm, false)
	if err != nil {
		return nil, err
	}
	return &Part{File: f, root: root, name: name}, nil
}

// Commit syncs and closes the file, renames it to the target and syncs the directory. After an
// error the target is unchanged, unless only the last step failed. On Windows, Commit waits up to
// two seconds while other processes have the target open.
func (p *Part) Commit() error {
	if p.done {
		return fs.ErrClosed
	}
	defer p.Discard()
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.PublishAs(p.target); err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	return SyncDirIn(p.root, ".")
}

// PublishAs renames the file to a name in its root. It syncs nothing: after a power failure the
// content of the target is undefined. The file stays open until Discard.
func (p *Part) PublishAs(target string) error {
	if p.done {
		return fs.ErrClosed
	}
	if err := replaceable(p.root, target); err != nil {
		return err
	}
	if err := retryChange(func() error { return p.root.Rename(p.name, target) }); err != nil {
		return replacing(p.root, target, err)
	}
	p.done = true
	return nil
}

// replaceable returns an error if target must not be replaced.
func replaceable(root *os.Root, target string) error {
	info, err := root.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if t := info.Mode().Type(); t != 0 && t != fs.ModeSymlink {
		return &fs.PathError{Op: "replace", Path: filepath.Join(root.Name(), target), Err: ErrNotAFile}
	}
	return nil
}

// Discard closes the file, and removes it unless it has its final name. Calling it again has no
// effect.
func (p *Part) Discard() {
	if !p.done {
		p.done = true
		retryChange(func() error { return p.root.Remove(p.name) }) // while it is locked
	}
	p.Close()
	if p.owned {
		p.root.Close()
	}
}

// PartDir is a private directory for files without their final names. It is locked, so that
// [SweepParts] does not remove it while its process lives.
type PartDir struct {
	root  *os.Root
	owned bool // close root with the directory
	name  string
	lock  *os.File
}

// CreatePartDir creates a directory with mode 0700 in dir and locks its file "lock". If the file
// system has no locks, the directory is not locked, and no process sweeps.
func CreatePartDir(dir string) (*PartDir, error) {
	root, err := OpenRoot(dir)
	if err != nil {
		return nil, creating(dir, err)
	}
	d, err := CreatePartDirIn(root, ".", 0o700)
	if err != nil {
		root.Close()
		return nil, err
	}
	d.owned = true
	return d, nil
}

// CreatePartDirIn is [CreatePartDir] for a directory of root, which must stay open until Discard. The
// new directory gets the mode perm less the umask.
func CreatePartDirIn(root *os.Root, dir string, perm fs.FileMode) (*PartDir, error) {
	name, lock, err := newPart(root, dir, perm, true)
	if err != nil {
		return nil, err
	}
	return &PartDir{root: root, name: name, lock: lock}, nil
}

// Name returns the name of the directory in its root.
func (d *PartDir) Name() string { return d.name }

// Path returns the path of the directory.
func (d *PartDir) Path() string { return filepath.Join(d.root.Name(), d.name) }

// Discard removes the directory with its content, as [RemoveTree] does. What is left if ctx has ended
// is removed by [SweepParts].
func (d *PartDir) Discard(ctx context.Context) {
	d.lock.Close()
	_ = RemoveTree(ctx, d.root, d.name)
	if d.owned {
		d.root.Close()
	}
}

// SweepParts removes each [Part] and [PartDir] in dir whose process has ended. Locks decide, not
// age. Symbolic links are not followed, and errors are ignored. It stops when ctx ends.
func SweepParts(ctx context.Context, dir string) {
	root, err := OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	SweepPartsIn(ctx, root, ".")
}

// SweepPartsIn is [SweepParts] for a directory of root.
func SweepPartsIn(ctx context.Context, root *os.Root, dir string) {
	d, err := OpenIn(root, dir)
	if err != nil {
		return
	}
	defer d.Close()
	for {
		// In pieces, to bound memory.
		entries, err := d.ReadDir(1000)
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			switch {
			case ctx.Err() != nil:
				return
			case !isPartName(e.Name()):
			case e.IsDir():
				sweepDir(ctx, root, name)
			case e.Type().IsRegular():
				sweepFile(root, name)
			}
		}
		if err != nil {
			return
		}
	}
}

func sweepFile(root *os.Root, name string) {
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if locked, err := TryLock(f); err == nil && locked {
		_ = root.Remove(name) // if its process has not locked it yet, that creates another
	}
}

// sweepDir removes a directory whose lock file is unlocked or missing. A process that has just
// created the directory then finds the lock taken, or no directory, and creates another.
func sweepDir(ctx context.Context, root *os.Root, name string) {
	part, err := OpenRootIn(root, name)
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
	if dead := filepath.Join(filepath.Dir(name), partName()); root.Rename(name, dead) == nil {
		_ = RemoveTree(ctx, root, dead)
	}
}

// creating turns an error about a random name in dir into one about dir.
func creating(dir string, err error) error {
	return &fs.PathError{Op: "create a file in", Path: dir, Err: cause(err)}
}

// replacing turns an error about one or two names in root into one about target.
func replacing(root *os.Root, target string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "replace", Path: filepath.Join(root.Name(), target), Err: cause(err)}
}

// cause returns the cause of an error of package os.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
