package doccache

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
)

// leastSize is what the smallest entry counts for, so that a bound on bytes is one on files
// as well.
const leastSize = 32 << 10

// taken is how much an entry counts for whose file has this size.
func taken(size int64) int64 { return max(size, leastSize) }

func (t *Transport) maxBytes() int64 {
	switch {
	case t.MaxBytes < 0:
		return math.MaxInt64
	case t.MaxBytes == 0:
		return defaultBytes
	}
	return t.MaxBytes
}

// evict makes room after an entry was written that takes this much.
func (t *Transport) evict(ctx context.Context, s *store, size int64) {
	limit := t.maxBytes()
	if !s.overdue(size, limit) {
		return
	}
	removed, err := s.evict(limit)
	t.counts.evicted.Add(int64(removed))
	if err != nil {
		t.trouble(ctx, "make room in", err)
	}
}

// overdue takes note of an entry, and reports whether the caller has to count them all. What
// other processes write is not seen here, so that has to be done now and then.
func (s *store) overdue(size, limit int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += size
	s.since += size
	if s.busy || s.counted && s.bytes <= limit && s.since <= limit/16 {
		return false
	}
	s.busy = true
	return true
}

// evict counts the entries and removes those that were not used for longest, if there are
// too many. It also removes what processes left behind that were killed.
func (s *store) evict(limit int64) (removed int, err error) {
	list, err := s.list()
	if err == nil && list.bytes > limit {
		removed = s.shrink(&list, limit-limit/8)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	s.counted, s.since = err == nil, 0
	s.bytes = list.bytes
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
			l.bytes += taken(info.Size())
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

// shrink removes files until what is left takes no more than limit.
func (s *store) shrink(l *listing, limit int64) (removed int) {
	soon := time.Now().Add(time.Hour)
	used := func(f fs.FileInfo) time.Time {
		if f.ModTime().After(soon) { // the clock was ahead; nobody knows
			return time.Time{}
		}
		return f.ModTime()
	}
	slices.SortFunc(l.files, func(a, b fs.FileInfo) int {
		return cmp.Or(used(a).Compare(used(b)), cmp.Compare(a.Name(), b.Name()))
	})
	for len(l.files) > 0 && l.bytes > limit {
		if err := os.Remove(s.path(l.files[0].Name())); err == nil {
			removed++
		}
		l.bytes -= taken(l.files[0].Size())
		l.files = l.files[1:]
	}
	return removed
}
