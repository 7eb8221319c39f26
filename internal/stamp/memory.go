// Package stamp keeps hashes of directories while no file changes. A look at the files shows it. The hashes are in
// memory, and for other processes of the user in files, the stamps.
//
// A look reads names, inodes, sizes, modes, owners, links and times, but no content, as git does for its
// index. Programs run from these directories, so the rules are stricter: see [Memory.Hash].
package stamp

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

const (
	maxKnown = 1024               // directories
	maxAge   = 7 * 24 * time.Hour // of a hash
)

// Memory keeps the hashes that this process has computed. The zero Memory is ready to use. It is safe
// for concurrent use and must not be copied after the first use.
type Memory struct {
	System System // set before the first use

	mu    sync.Mutex
	known map[place]*entry
}

// System has what a look asks the system for, apart from the files. Nil fields ask it; tests set them.
type System struct {
	Now       func() time.Time
	User      func() int                            // the effective user ID
	Boot      func() (string, error)                // the ID of the boot
	Statfs    func(dir *os.File) (int64, error)     // the type of the file system
	Reference func(dir *os.Root) (time.Time, error) // the change time of a new file on the file system of dir
}

// now returns the wall clock time. A monotonic reading would hide that the clock was set back.
func (s System) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now().Round(0)
}

// look is the result of a look at a directory.
type look struct {
	place  place
	digest [sha256.Size]byte // of all that was seen
}

// place identifies a directory until the next boot.
type place struct {
	path   string // absolute, without symbolic links
	device uint64
	inode  uint64
}

// record is a hash with the look at the directory that has it.
type record struct {
	digest [sha256.Size]byte
	hash   checksum.Hash
	at     time.Time // before the first byte was read
}

func (r *record) fits(l look, now time.Time) bool {
	return !r.at.IsZero() && r.digest == l.digest && !now.Before(r.at) && now.Sub(r.at) < maxAge
}

// entry is a record that calls use in turn.
type entry struct {
	turn *semaphore.Weighted
	record
}

// entry returns the entry of a directory. A new one may evict any other.
func (m *Memory) entry(p place) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.known[p]; e != nil {
		return e
	}
	if m.known == nil {
		m.known = map[place]*entry{}
	}
	for other := range m.known {
		if len(m.known) < maxKnown {
			break
		}
		delete(m.known, other)
	}
	e := &entry{turn: semaphore.NewWeighted(1)}
	m.known[p] = e
	return e
}

// Hash returns compute for the files in dir, which ignores everything that is neither a file nor a
// directory or fails. If it returns the result of an earlier call, at is when that call began.
// Otherwise at is zero.
//
// A result is kept if the looks before and after compute are equal and follow the rules:
//
//   - All times are older than a file that is made on the same file system before the first look, so
//     that each later change moves a time.
//   - No file is open for writing, or mapped. Such a writer can change content without moving a time.
//   - All files, directories and parents belong to this user or root, who alone can write to them.
//   - No file has a second name, and nothing is on another device.
//   - The file system is ext4, xfs or btrfs, on Linux.
//
// It is used for a week at most, while a look is equal and follows the rules except the second.
//
// If stamps is not empty, it is a directory for the stamps of this user. A result of another process is
// used until the next boot, and not kept in memory.
func (m *Memory) Hash(ctx context.Context, dir *os.Root, stamps string, compute func(context.Context, fs.FS) (checksum.Hash, error)) (h checksum.Hash, at time.Time, err error) {
	files := fsx.Tree(ctx, dir)
	before, err := m.System.look(ctx, dir)
	if err != nil {
		h, err = compute(ctx, files)
		return h, time.Time{}, err
	}
	e := m.entry(before.place)
	if err := e.turn.Acquire(ctx, 1); err != nil {
		return h, time.Time{}, fault.Ended(ctx)
	}
	defer e.turn.Release(1)
	now := m.System.now()
	if e.fits(before, now) {
		return e.hash, e.at, nil
	}
	if stamps != "" {
		if r, err := m.System.readStamp(stamps, before.place); err == nil && r.fits(before, now) {
			return r.hash, r.at, nil
		}
	}
	idle := checkIdle(ctx, dir)
	if h, err = compute(ctx, files); err != nil || idle != nil {
		return h, time.Time{}, err
	}
	if after, err := m.System.look(ctx, dir); err == nil && after == before {
		e.record = record{before.digest, h, now}
		if stamps != "" {
			_ = m.System.writeStamp(ctx, stamps, before.place, e.record) // without it, the next process reads the files
		}
	}
	return h, time.Time{}, nil
}
