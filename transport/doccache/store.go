package doccache

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
)

// store is the directory of entries. It is private, so that no other user can plant an
// entry, or guess from a name what was asked.
type store struct{ *os.Root }

const (
	// version is the name of the directory in [Transport.Dir], and of the format in it.
	version = "v1"

	entrySuffix = ".doc"
	lockSuffix  = ".lock"
)

// ours matches the names of the files that are counted and removed.
var ours = regexp.MustCompile(`^[0-9a-f]{64}\.(doc|lock)$`)

// open returns the open directory. The finalizer of its [os.Root] closes it after the last
// request.
func (t *Transport) open() (*store, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.store != nil && t.store.check() == nil {
		return t.store, nil
	}
	s, err := openStore(t.Dir)
	t.store = s
	return s, err
}

// reopen returns s, or a new store if the directory has been removed or replaced.
func (t *Transport) reopen(s *store) (*store, error) {
	info, err := s.Stat(".")
	if here, errHere := os.Lstat(s.Name()); err == nil && errHere == nil && os.SameFile(info, here) {
		return s, nil
	}
	t.mu.Lock()
	if t.store == s {
		t.store = nil
	}
	t.mu.Unlock()
	return t.open()
}

// openStore opens or makes the directory.
func openStore(dir string) (*store, error) {
	root, err := enter(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Join(dir, version), 0o700); err != nil {
			return nil, err
		}
		root, err = enter(dir)
	}
	if err != nil {
		return nil, err
	}
	s := &store{root}
	if err := s.check(); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

// check checks that the directory is private. It asks the open directory, which nobody can
// exchange.
func (s *store) check() error {
	info, err := s.Stat(".")
	if err != nil {
		return err
	}
	return private(s.Name(), info)
}

// enter opens the private directory. A link in its place does not lead out of dir.
func enter(dir string) (*os.Root, error) {
	parent, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return parent.OpenRoot(version)
}

// read returns an entry. The file is removed if it is damaged.
func (s *store) read(name string) (*entry, error) {
	f, err := fsx.OpenIn(s.Root, name+entrySuffix)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e, err := readEntry(f)
	if errors.Is(err, errDamaged) {
		_ = s.Remove(name + entrySuffix)
	}
	return e, err
}

func readEntry(f *os.File) (*entry, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, errDamaged
	}
	file := make([]byte, info.Size())
	if _, err := io.ReadFull(f, file); err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	return decode(file)
}

// write replaces an entry and returns how many bytes it counts for. If e is too large, the
// old entry is removed.
func (s *store) write(name string, e *entry, limit int64) (int64, error) {
	file, err := e.encode()
	size := counts(int64(len(file)))
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
	// Not synced: a file that a power failure damages is fetched again.
	return size, p.PublishAs(name + entrySuffix)
}

// leastSize is what the smallest entry counts for: the bound on bytes is one on files too.
const leastSize = 32 << 10

func counts(size int64) int64 { return max(size, leastSize) }

func (t *Transport) maxBytes() int64 {
	if t.MaxBytes < 0 {
		return math.MaxInt64
	}
	return cmp.Or(t.MaxBytes, 256<<20)
}

// evict makes room after size bytes were written: at the first write, after each sixteenth
// of the bound, and if force is set. Until then, entries of other processes are not counted.
func (t *Transport) evict(s *store, size int64, force bool) error {
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
	return s.shrink(limit)
}

// shrink removes the oldest entries if all together exceed limit, and the files that killed
// processes have left.
func (s *store) shrink(limit int64) error {
	fsx.SweepPartsIn(s.Root)
	names, err := fs.ReadDir(s.FS(), ".")
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var bytes int64
	for _, n := range names {
		info, err := n.Info()
		switch {
		case err != nil || !ours.MatchString(n.Name()): // removed, or not ours
		case filepath.Ext(n.Name()) == entrySuffix:
			files = append(files, info)
			bytes += counts(info.Size())
		case time.Since(info.ModTime()) > time.Hour: // no lock is held for so long
			_ = s.Remove(n.Name())
		}
	}
	if bytes <= limit {
		return nil
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		if bytes <= limit-limit/8 {
			break
		}
		_ = s.Remove(info.Name())
		bytes -= counts(info.Size())
	}
	return nil
}
