package doccache

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
)

// recount is after how many entries of its own a process looks again at what the others
// have written.
const recount = 256

func (t *Transport) maxBytes() int64 {
	if t.MaxBytes == 0 {
		return defaultBytes
	}
	return t.MaxBytes
}

func (t *Transport) maxEntries() int {
	if t.MaxEntries == 0 {
		return defaultEntries
	}
	return t.MaxEntries
}

// evict makes room after an entry of this size was written.
func (t *Transport) evict(ctx context.Context, s *store, size int64) {
	maxBytes, maxEntries := t.maxBytes(), t.maxEntries()
	if maxBytes < 0 && maxEntries < 0 || !s.overdue(size, maxBytes, maxEntries) {
		return
	}
	removed, err := s.evict(maxBytes, maxEntries)
	t.counts.evicted.Add(int64(removed))
	if err != nil {
		t.trouble(ctx, "make room in", err)
	}
}

// overdue takes note of an entry, and reports whether the caller has to count them all.
func (s *store) overdue(size, maxBytes int64, maxEntries int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += size
	s.entries++
	s.since++
	if s.busy || s.counted && s.since < recount &&
		(maxBytes < 0 || s.bytes <= maxBytes) && (maxEntries < 0 || s.entries <= maxEntries) {
		return false
	}
	s.busy = true
	return true
}

// evict counts the entries and removes those that were not used for longest, if there are
// too many. It also removes what processes left behind that were killed.
func (s *store) evict(maxBytes int64, maxEntries int) (removed int, err error) {
	list, err := s.list()
	if err == nil {
		removed = s.shrink(&list, maxBytes, maxEntries)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	s.counted, s.since = err == nil, 0
	s.bytes, s.entries = list.bytes, len(list.files)
	return removed, err
}

// listing is what there is in the directory.
type listing struct {
	files []fs.FileInfo
	bytes int64
}

func (s *store) list() (listing, error) {
	fsx.SweepParts(s.dir)
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return listing{}, err
	}
	var l listing
	for _, n := range names {
		if isOurs(n.Name(), lockSuffix) {
			s.sweepLock(n)
		}
		if !isEntry(n.Name()) {
			continue
		}
		info, err := n.Info()
		switch {
		case err != nil: // removed just now
		case !info.Mode().IsRegular():
			_ = os.Remove(s.path(n.Name())) // a link, say, not what it points to
		default:
			l.files = append(l.files, info)
			l.bytes += info.Size()
		}
	}
	return l, nil
}

// sweepLock removes the lock of a process that was killed.
func (s *store) sweepLock(e fs.DirEntry) {
	info, err := e.Info()
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < time.Hour {
		return
	}
	once, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("do not wait"))
	if l, err := fsx.AcquireLock(once, s.path(e.Name())); err == nil {
		_ = l.Remove()
	}
}

// shrink removes files until what is left takes seven eighths of the bounds, if it takes
// more than all.
func (s *store) shrink(l *listing, maxBytes int64, maxEntries int) (removed int) {
	if (maxBytes < 0 || l.bytes <= maxBytes) && (maxEntries < 0 || len(l.files) <= maxEntries) {
		return 0
	}
	slices.SortFunc(l.files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for len(l.files) > 0 &&
		(maxBytes >= 0 && l.bytes > maxBytes-maxBytes/8 || maxEntries >= 0 && len(l.files) > maxEntries-maxEntries/8) {
		if err := os.Remove(s.path(l.files[0].Name())); err == nil {
			removed++
		}
		l.bytes -= l.files[0].Size()
		l.files = l.files[1:]
	}
	return removed
}
