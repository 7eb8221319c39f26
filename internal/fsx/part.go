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
	"time"
)

// partSuffix ends the name of what is locked while it is in the making.
const partSuffix = ".part"

// partTries is how often a part is begun anew because somebody sweeps faster than it
// can be locked.
const partTries = 100

// Part is a file that has not got its name yet. Commit gives it the name; Discard,
// deferred, removes it if Commit was not reached. It is locked from the start until then,
// so that [SweepParts] tells it from those that dead processes have left behind.
type Part struct {
	*os.File
	root   *os.Root
	owned  bool // root is to be closed with the part
	name   string
	target string // in root; empty for a part of CreatePartIn
	done   bool
}

// CreatePart opens a new file beside target for writing and reading. It has the mode
// perm less the umask from the start, and after Commit. Where the file system has no
// locks it has none; then nobody sweeps there either.
//
// A target that is a directory, a device, a pipe or a socket is refused with
// ErrNotAFile. Where target is a symbolic link, Commit replaces the link, not
// what it points to.
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

// CreatePartIn opens a new file in a directory of root, which must stay open until the Part
// is discarded. [Part.PublishAs] gives it a name in root.
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
			return p, nil // no locks here
		}
		// It had no lock for a moment, in which another process may have removed it.
		if there, err := isAt(f, root.Stat, name); locked && err == nil && there {
			return p, nil
		}
		p.Discard()
	}
	return nil, creating(shown, fs.ErrExist)
}

// Commit syncs the file, puts it in the place of the target and syncs the directory.
// After an error the target is as it was, unless only the last step failed. The file is
// closed in any case. On Windows, where Commit fails while somebody has the target open, it
// waits for that, though not for long.
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

// Publish is Commit without syncing: after a power failure the target may hold anything.
// It is for what can be had again and whose readers notice.
func (p *Part) Publish() error {
	if p.done {
		return fs.ErrClosed
	}
	defer p.Discard()
	return p.rename()
}

// PublishAs is [Part.Publish] of a part that [CreatePartIn] has made: it gets a name in the
// same root. The file stays open until Discard.
func (p *Part) PublishAs(target string) error {
	if p.done {
		return fs.ErrClosed
	}
	return p.move(target)
}

// move gives the file the name target.
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

// rename gives the file the name of its target and closes it.
func (p *Part) rename() error {
	if !removesOpenFiles {
		// Only a closed file can be renamed. Closing ends the lock, but no process sweeps
		// what was written to a moment ago.
		now := time.Now()
		_ = p.root.Chtimes(p.name, now, now)
		if err := p.Close(); err != nil {
			return err
		}
	}
	err := p.move(p.target)
	if err == nil && removesOpenFiles {
		err = p.Close()
	}
	return err
}

// Discard closes the file, and removes it unless it has got its name.
func (p *Part) Discard() {
	if !p.done {
		p.done = true
		if removesOpenFiles {
			p.root.Remove(p.name) // while it is locked
		} else {
			p.Close()
			retryChange(func() error { return p.root.Remove(p.name) })
		}
	}
	p.Close()
	if p.owned {
		p.root.Close()
	}
}

// partName returns a name that nobody can plant: the generator is seeded by the system.
func partName() string {
	return TempPrefix + strconv.FormatUint(rand.Uint64(), 36) + partSuffix
}

// isPartName reports whether partName may have made the name.
func isPartName(name string) bool {
	middle, ok := strings.CutPrefix(name, TempPrefix)
	middle, ok2 := strings.CutSuffix(middle, partSuffix)
	return ok && ok2 && middle != "" && strings.Trim(middle, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}
