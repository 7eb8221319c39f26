package doccache

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// store is the directory of entries. It is private, so that other users can neither add entries
// nor see which documents are cached.
type store struct{ *os.Root }

const (
	// version is the version of the format and the name of the directory in [Transport.Dir].
	version = "v1"

	entrySuffix = ".doc"
	lockSuffix  = ".lock"
)

// ownFile matches the names of the files that are counted and removed.
var ownFile = regexp.MustCompile(`^[0-9a-f]{64}\.(doc|lock)$`)

// open returns the open directory, which it creates if it does not exist. If look is set, it opens a
// directory again that has been removed or replaced. The old one is closed when it is garbage, because
// requests may still use it.
func (t *Transport) open(look bool) (*store, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.store != nil && t.store.check(look) == nil {
		return t.store, nil
	}
	t.store = nil
	root, err := fsx.OpenPrivateDir(t.Dir, version)
	if err != nil {
		return nil, err
	}
	t.store = &store{root}
	return t.store, nil
}

// check checks that the open directory is private, and if look is set, that it still has its name.
func (s *store) check(look bool) error {
	if look {
		info, err := s.Stat(".")
		if err != nil {
			return err
		}
		here, err := os.Lstat(s.Name())
		if err != nil || !os.SameFile(info, here) {
			return errors.Join(errors.New("the directory has been replaced"), err)
		}
	}
	return fsx.CheckPrivate(s.Root)
}

// read returns an entry. The file is removed if it is damaged.
func (s *store) read(name string) (e *entry, err error) {
	f, err := fsx.OpenIn(s.Root, name+entrySuffix)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	err = errDamaged
	if info.Mode().IsRegular() && info.Size() <= maxFile {
		file := make([]byte, info.Size())
		if _, err = io.ReadFull(f, file); err == nil {
			e, err = decode(file)
		}
	}
	if err != nil {
		_ = s.Remove(name + entrySuffix)
	}
	return e, err
}

// write replaces an entry and returns its counted size. If e is too large, the old entry is
// removed.
func (s *store) write(name string, e *entry, limit int64) (int64, error) {
	file, err := e.encode()
	size := countedSize(int64(len(file)))
	if err == nil && size > limit {
		err = errTooLarge
	}
	if errors.Is(err, errTooLarge) {
		_ = s.Remove(name + entrySuffix)
	}
	if err != nil {
		return 0, err
	}
	p, err := fsx.CreatePartIn(s.Root, ".", 0o600)
	if err != nil {
		return 0, err
	}
	defer p.Discard()
	if _, err := p.Write(file); err != nil {
		return 0, err
	}
	// Not synced: a damaged file is fetched again.
	return size, p.PublishAs(name + entrySuffix)
}

// minSize is the counted size of a smaller entry, so that the number of files is limited too.
const minSize = 32 << 10

func countedSize(size int64) int64 { return max(size, minSize) }

func (t *Transport) maxBytes() int64 {
	if t.MaxBytes < 0 {
		return math.MaxInt64
	}
	return cmp.Or(t.MaxBytes, 256<<20)
}

// evict limits the directory after a write of size bytes. It lists the directory at the first
// write, after each sixteenth of the limit, and if force is set.
func (t *Transport) evict(ctx context.Context, s *store, size int64, force bool) error {
	limit := t.maxBytes()
	t.mu.Lock()
	t.written += size
	due := force || !t.counted || t.written >= limit/16
	if due {
		t.counted, t.written = true, 0
	}
	t.mu.Unlock()
	if !due {
		return nil
	}
	err := s.shrink(ctx, limit)
	if ctx.Err() != nil {
		t.mu.Lock()
		t.counted = false // the next write goes on
		t.mu.Unlock()
	}
	return err
}

// shrink removes the oldest entries if all entries exceed limit, and files of killed processes.
func (s *store) shrink(ctx context.Context, limit int64) error {
	fsx.SweepPartsIn(ctx, s.Root, ".")
	names, err := fs.ReadDir(fsx.Tree(ctx, s.Root), ".")
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var bytes int64
	for _, n := range names {
		if ctx.Err() != nil {
			return fault.Ended(ctx)
		}
		info, err := n.Info()
		switch {
		case err != nil || !ownFile.MatchString(n.Name()):
		case filepath.Ext(n.Name()) == entrySuffix:
			files = append(files, info)
			bytes += countedSize(info.Size())
		case time.Since(info.ModTime()) > time.Hour: // no process holds a lock for so long
			_ = s.Remove(n.Name())
		}
	}
	if bytes <= limit {
		return nil
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		if bytes <= limit-limit/8 || ctx.Err() != nil {
			break
		}
		_ = s.Remove(info.Name())
		bytes -= countedSize(info.Size())
	}
	return nil
}
