package fsx

import (
	"cmp"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// partSuffix ends the names of parts.
const partSuffix = ".part"

// partTries is the number of attempts to create a part while other processes sweep.
const partTries = 100

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
	root, err := os.OpenRoot(cmp.Or(dir, "."))
	if err != nil {
		return nil, creating(filepath.Dir(target), err)
	}
	var p *Part
	if err = replaceable(root, name); err == nil {
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
	shown := filepath.Join(root.Name(), dir)
	for range partTries {
		name := filepath.Join(dir, partName())
		f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, creating(shown, err)
		}
		p := &Part{File: f, root: root, name: name}
		locked, err := TryLock(f)
		if err != nil {
			return p, nil // no locks on this file system
		}
		// Another process may have removed the file before it was locked.
		if there, err := isAt(f, root.Stat, name); locked && err == nil && there {
			return p, nil
		}
		p.Discard()
	}
	return nil, creating(shown, fs.ErrExist)
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
	if err := p.rename(); err != nil {
		return err
	}
	return SyncDirIn(p.root, ".")
}

// Publish is Commit without syncing. After a power failure the content of the target is undefined.
// It is for files that can be recreated and whose readers detect damage.
func (p *Part) Publish() error {
	if p.done {
		return fs.ErrClosed
	}
	defer p.Discard()
	return p.rename()
}

// PublishAs is [Part.Publish] for a part of [CreatePartIn], with a target in the same root. The
// file stays open until Discard.
func (p *Part) PublishAs(target string) error {
	if p.done {
		return fs.ErrClosed
	}
	return p.move(target)
}

// move renames the file to target.
func (p *Part) move(target string) error {
	if err := replaceable(p.root, target); err != nil {
		return err
	}
	if err := retryChange(func() error { return p.root.Rename(p.name, target) }); err != nil {
		return replacing(filepath.Join(p.root.Name(), target), err)
	}
	p.done = true
	return nil
}

// rename renames the file to its target and closes it.
func (p *Part) rename() error {
	if err := p.move(p.target); err != nil {
		return err
	}
	return p.Close()
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
