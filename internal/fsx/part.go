package fsx

import (
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
	in     places
	name   string // in that
	target string
	done   bool
}

// places is where a part is: the file system, or an *os.Root.
type places interface {
	place
	names
}

// CreatePart opens a new file beside target for writing and reading. It has the mode
// perm less the umask from the start, and after Commit. Where the file system has no
// locks it has none; then nobody sweeps there either.
//
// A target that is a directory, a device, a pipe or a socket is refused with
// ErrNotAFile. Where target is a symbolic link, Commit replaces the link, not
// what it points to.
func CreatePart(target string, perm fs.FileMode) (*Part, error) {
	if err := replaceable(anywhere{}, target); err != nil {
		return nil, err
	}
	p, err := createPart(anywhere{}, filepath.Dir(target), perm)
	if p != nil {
		p.target = target
	}
	return p, err
}

// CreatePartIn opens a new file in a directory of root, which must stay open until the Part
// is discarded. [Part.PublishAs] gives it a name in root.
func CreatePartIn(root *os.Root, dir string, perm fs.FileMode) (*Part, error) {
	return createPart(root, dir, perm)
}

func createPart(in places, dir string, perm fs.FileMode) (*Part, error) {
	for range partTries {
		name := filepath.Join(dir, partName())
		f, err := in.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, creating(dir, err)
		}
		p := &Part{File: f, in: in, name: name}
		if locked, err := TryLock(f); err != nil {
			return p, nil // no locks here
		} else if locked {
			// It had no lock for a moment, in which somebody may have removed it.
			if there, err := isIn(f, in, name); err == nil && there {
				return p, nil
			}
		}
		p.Discard()
	}
	return nil, &fs.PathError{Op: "create a temporary file in", Path: dir, Err: fs.ErrExist}
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
	return SyncDir(filepath.Dir(p.target))
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
	if err := replaceable(p.in, target); err != nil {
		return err
	}
	if err := retryChange(func() error { return p.in.Rename(p.name, target) }); err != nil {
		return replacing(target, err)
	}
	p.done = true
	return nil
}

func (p *Part) rename() error {
	if err := replaceable(p.in, p.target); err != nil {
		return err
	}
	if !removesOpenFiles {
		// Only what is closed can be renamed. That ends the lock, but nobody sweeps
		// what has been written to a moment ago.
		now := time.Now()
		_ = os.Chtimes(p.Name(), now, now)
		if err := p.Close(); err != nil {
			return err
		}
	}
	if err := retryChange(func() error { return os.Rename(p.Name(), p.target) }); err != nil {
		return replacing(p.target, err)
	}
	p.done = true
	if removesOpenFiles {
		return p.Close()
	}
	return nil
}

// Discard closes the file, and removes it unless it has got its name.
func (p *Part) Discard() {
	if p.done {
		p.Close()
		return
	}
	p.done = true
	if removesOpenFiles {
		p.in.Remove(p.name) // while it is locked
		p.Close()
		return
	}
	p.Close()
	retryChange(func() error { return p.in.Remove(p.name) })
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
