package fsx

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	partSlots  = 8       // names of the parts of one target
)

// ErrNotAFile: the file is not a regular file. A target to replace may also be a symbolic link.
var ErrNotAFile = errors.New("exists and is not a regular file")

// partName returns an unpredictable name.
func partName() string {
	return TempPrefix + strconv.FormatUint(rand.Uint64(), 36) + partSuffix
}

// slotName returns one of the names of the parts of a target, which ends with a slash for a PartDir. A killed process leaves such a part, which the next
// process takes over, so that nobody must read the directory, which can be large.
func slotName(target string, slot int) string {
	sum := sha256.Sum256([]byte(target))
	return TempPrefix + hex.EncodeToString(sum[:12]) + strconv.Itoa(slot) + partSuffix
}

// deadName returns the name under which a PartDir is removed, so that its own name is free.
func deadName(slot string) string { return strings.TrimSuffix(slot, partSuffix) + "x" + partSuffix }

// sweepSlots removes the parts of a target whose process has ended.
func sweepSlots(ctx context.Context, root *os.Root, target string) {
	for i := range partSlots {
		slot := slotName(target, i)
		for _, name := range []string{slot, deadName(slot)} {
			info, err := root.Lstat(name)
			switch {
			case err != nil:
			case name != slot && info.IsDir():
				_ = RemoveTree(ctx, root, name)
			case info.IsDir():
				sweepDir(ctx, root, name, deadName(slot))
			case info.Mode().IsRegular():
				sweepFile(root, name)
			}
		}
	}
}

// isPartName reports whether partName or slotName can return name.
func isPartName(name string) bool {
	middle, ok := strings.CutPrefix(name, TempPrefix)
	middle, ok2 := strings.CutSuffix(middle, partSuffix)
	return ok && ok2 && middle != "" && strings.Trim(middle, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// newPart creates a file, or a directory with a lock file, in a directory of root, under a random name or, if target is
// not empty and fewer than partSlots parts of it are in use, under one of its names. It returns the name and the locked
// file, which is not locked if the file system has no locks.
func newPart(root *os.Root, dir, target string, perm fs.FileMode, isDir bool) (name string, f *os.File, err error) {
	for try := range partTries {
		name = filepath.Join(dir, partName())
		if target != "" && try < partSlots {
			name = slotName(target, try)
		}
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
		f.Close() // the holder of its lock removes it
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
//
// The names of the first eight parts of a target are fixed. CreatePart removes those whose process has ended, and looks
// at no other name in the directory. What stays are at most eight parts of a target that nobody writes again, and parts
// of killed processes beyond eight at a time, until [SweepParts].
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
		sweepSlots(context.Background(), root, name)
		p, err = createPart(root, ".", name, perm)
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
	return createPart(root, dir, "", perm)
}

func createPart(root *os.Root, dir, target string, perm fs.FileMode) (*Part, error) {
	name, f, err := newPart(root, dir, target, perm, false)
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
	slot  bool // others can use the name again
	name  string
	lock  *os.File
}

// CreatePartDir creates a directory with mode 0700 beside target and locks its file "lock". If the file
// system has no locks, the directory is not locked, and no process sweeps. What was left of the target, and what
// stays, is as with [CreatePart].
func CreatePartDir(ctx context.Context, target string) (*PartDir, error) {
	dir, target := filepath.Split(target)
	target += "/"
	root, err := OpenRoot(cmp.Or(dir, "."))
	if err != nil {
		return nil, creating(filepath.Clean(dir), err)
	}
	sweepSlots(ctx, root, target)
	d, err := createPartDir(root, ".", target, 0o700)
	if err != nil {
		root.Close()
		return nil, err
	}
	d.owned, d.slot = true, true
	return d, nil
}

// CreatePartDirIn is [CreatePartDir] for a directory of root, which must stay open until Discard. The
// new directory gets the mode perm less the umask.
func CreatePartDirIn(root *os.Root, dir string, perm fs.FileMode) (*PartDir, error) {
	return createPartDir(root, dir, "", perm)
}

func createPartDir(root *os.Root, dir, target string, perm fs.FileMode) (*PartDir, error) {
	name, lock, err := newPart(root, dir, target, perm, true)
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
// is removed by [SweepParts], or with the next part of the target.
func (d *PartDir) Discard(ctx context.Context) {
	if runtime.GOOS == "windows" { // which renames no directory with an open file
		d.lock.Close()
	}
	name := d.name
	if d.slot { // its name is free for others before it is unlocked
		if name = deadName(d.name); d.root.Rename(d.name, name) != nil { // that of another is being removed
			name = partName()
			d.root.Rename(d.name, name)
		}
	}
	d.lock.Close()
	removeDead(ctx, d.root, name)
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
				sweepDir(ctx, root, name, filepath.Join(dir, partName()))
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
	if locked, err := TryLock(f); err != nil || !locked {
		return
	}
	if there, err := isAt(f, root.Stat, name); err == nil && there { // not a new one with the same name
		_ = root.Remove(name) // if its process has not locked it yet, that creates another
	}
}

// sweepDir removes a directory whose lock file is unlocked or missing. A process that has just
// created the directory then finds the lock taken, or no directory, and creates another. The directory is removed under
// the name dead.
func sweepDir(ctx context.Context, root *os.Root, name, dead string) {
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
	if there, err := isAt(f, root.Stat, filepath.Join(name, partLock)); err != nil || !there {
		return // a new directory has the name
	}
	if runtime.GOOS == "windows" {
		// A directory with an open file cannot be renamed. That is so again if its process opens
		// the lock file now.
		f.Close()
		part.Close()
	}
	// Rename first: its process could create the lock file again while the rest is removed.
	if root.Rename(name, dead) == nil {
		removeDead(ctx, root, dead)
	}
}

// removeDead removes a PartDir under a name that is not used again. Each process that sweeps at the same time may have opened the
// directory before it was renamed, and may create its lock file once more.
func removeDead(ctx context.Context, root *os.Root, name string) {
	for range partTries {
		if RemoveTree(ctx, root, name) == nil || ctx.Err() != nil {
			return
		}
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
