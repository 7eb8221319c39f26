package storagetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/storage"
)

// wrong is a memory with some replaced methods.
type wrong struct {
	*memory
	open   func(ctx context.Context, m *memory, name string) (*storage.File, error)
	write  func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error
	list   func(ctx context.Context, m *memory, dir string) ([]storage.Entry, error)
	remove func(ctx context.Context, m *memory, name string) error
	stat   func(ctx context.Context, m *memory, name string) (storage.Info, error)
}

func (w wrong) Open(ctx context.Context, name string) (*storage.File, error) {
	if w.open == nil {
		return w.memory.Open(ctx, name)
	}
	return w.open(ctx, w.memory, name)
}

func (w wrong) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	if w.write == nil {
		return w.memory.Write(ctx, name, content, was)
	}
	return w.write(ctx, w.memory, name, content, was)
}

func (w wrong) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	if w.list == nil {
		return w.memory.List(ctx, dir)
	}
	return w.list(ctx, w.memory, dir)
}

func (w wrong) Delete(ctx context.Context, name string) error {
	if w.remove == nil {
		return w.memory.Delete(ctx, name)
	}
	return w.remove(ctx, w.memory, name)
}

// Stat opens the file, so that a wrong Open is wrong in one way.
func (w wrong) Stat(ctx context.Context, name string) (storage.Info, error) {
	if w.stat != nil {
		return w.stat(ctx, w.memory, name)
	}
	f, err := w.Open(ctx, name)
	if err != nil {
		return storage.Info{}, err
	}
	return f.Info, f.Close()
}

// make returns a function that returns values for one memory.
func (w wrong) make() func() storage.Store {
	m := newMemory()
	return func() storage.Store {
		w := w
		w.memory = m
		return w
	}
}

// opening returns a storage that changes each open file.
func opening(change func(m *memory, name string, o *storage.File)) func() storage.Store {
	return wrong{open: func(ctx context.Context, m *memory, name string) (*storage.File, error) {
		o, err := m.Open(ctx, name)
		if err == nil {
			change(m, name, o)
		}
		return o, err
	}}.make()
}

// storing returns a storage that stores what it has received in another way.
func storing(store func(ctx context.Context, m *memory, name string, data []byte, was storage.Revision) error) func() storage.Store {
	return wrong{write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
		data, err := receive(ctx, content)
		if err != nil {
			return err
		}
		return store(ctx, m, name, data, was)
	}}.make()
}

// listing returns a storage that changes each listing.
func listing(change func(list []storage.Entry, err error) ([]storage.Entry, error)) func() storage.Store {
	return wrong{list: func(ctx context.Context, m *memory, dir string) ([]storage.Entry, error) {
		return change(m.List(ctx, dir))
	}}.make()
}

// broken are storages with one error each, and the expected text.
var broken = map[string]struct {
	storage func() storage.Store // each call returns a value for the same place
	others  int
	by      string // the check that finds it
	long    bool   // takes minutes in a synctest bubble
	want    string
}{
	"error of a missing file": {by: "missing files", want: "want an error that wraps fs.ErrNotExist", storage: wrong{
		open: func(ctx context.Context, m *memory, name string) (*storage.File, error) {
			o, err := m.Open(ctx, name)
			if err != nil {
				err = errors.New("status 404")
			}
			return o, err
		}}.make()},
	"a missing file is an empty one": {by: "missing files", want: "succeeds, want an error that wraps fs.ErrNotExist", storage: wrong{
		open: func(ctx context.Context, m *memory, name string) (*storage.File, error) {
			f, _ := m.get(name)
			f.revision += "r"
			return object(f), nil
		}}.make()},
	"a directory can be opened": {by: "missing files", want: `a directory, succeeds`, storage: wrong{
		open: func(ctx context.Context, m *memory, name string) (*storage.File, error) {
			if len(m.list(name+"/")) > 0 {
				return object(file{revision: "directory"}), nil
			}
			return m.Open(ctx, name)
		}}.make()},
	"missing when the context has ended": {by: "ended context", want: "want an error that wraps neither", storage: wrong{
		open: func(ctx context.Context, m *memory, name string) (*storage.File, error) {
			if ctx.Err() != nil {
				return nil, fs.ErrNotExist
			}
			return m.Open(ctx, name)
		}}.make()},
	"wrong size": {by: "read", want: "Size is 0, want", storage: opening(func(m *memory, name string, o *storage.File) {
		o.Size = 0
	})},
	"no revision": {by: "read", want: "Revision is empty", storage: opening(func(m *memory, name string, o *storage.File) {
		o.Revision = ""
	})},
	"revision of each opening": {by: "revisions", want: "of an unchanged file has revision", storage: opening(func(m *memory, name string, o *storage.File) {
		m.mu.Lock()
		m.revision++
		o.Revision = storage.Revision(fmt.Sprint(m.revision))
		m.mu.Unlock()
	})},
	"revision is the size": {by: "write", want: "the revision is still", storage: wrong{
		open: func(ctx context.Context, m *memory, name string) (*storage.File, error) {
			o, err := m.Open(ctx, name)
			if err == nil {
				o.Revision = storage.Revision(fmt.Sprint("size ", o.Size))
			}
			return o, err
		},
		write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
			data, err := receive(ctx, content)
			if err != nil {
				return err
			}
			m.mu.Lock()
			f, ok := m.files[name]
			m.mu.Unlock()
			if (was != "") != ok || ok && was != storage.Revision(fmt.Sprint("size ", len(f.content))) {
				return storage.ErrConflict
			}
			return m.put(name, data, nil)
		}}.make()},
	"reads at the wrong offset": {by: "read", want: "reading 1 bytes: ReadAt", storage: opening(func(m *memory, name string, o *storage.File) {
		f, _ := m.get(name)
		o.ReadCloser = offByOne{bytes.NewReader(f.content)}
	})},
	"an open file changes": {by: "revisions", want: "which was replaced after Open", storage: opening(func(m *memory, name string, o *storage.File) {
		o.ReadCloser = &live{m: m, name: name}
	})},

	"unconditional": {by: "write", want: "want an error that wraps storage.ErrConflict", storage: storing(func(ctx context.Context, m *memory, name string, data []byte, _ storage.Revision) error {
		return m.put(name, data, nil)
	})},
	"error of a conflict": {by: "write", want: "want an error that wraps storage.ErrConflict", storage: wrong{
		write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
			if err := m.Write(ctx, name, content, was); err != nil {
				return errors.New("status 412")
			}
			return nil
		}}.make()},
	"checks, then writes without a lock": {by: "one of many writers", want: "succeed, want 1", storage: storing(lookAndWrite)},
	"a mutex in each process":            {by: "one of many writers", want: "succeed, want 1", others: 1, storage: perProcess()},
	"writes in parts": {by: "readers while files are created", want: "while", storage: storing(func(ctx context.Context, m *memory, name string, data []byte, was storage.Revision) error {
		if err := m.put(name, data[:len(data)/2], &was); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
		return m.put(name, data, nil)
	})},
	"removes and writes": {by: "readers while files are replaced", want: "readers while files are replaced: Open", storage: storing(func(ctx context.Context, m *memory, name string, data []byte, was storage.Revision) error {
		if f, _ := m.get(name); f.revision != was {
			return storage.ErrConflict
		}
		if fs.ValidPath(name) {
			m.Delete(ctx, name)
		}
		time.Sleep(time.Millisecond)
		missing := storage.Revision("")
		return m.put(name, data, &missing)
	})},
	"old content for a while": {by: "write", want: "want", storage: stale()},
	"partial file after a failed read": {by: "write from a failing source", want: "of a reader that fails after 0 bytes succeeds", storage: wrong{
		write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
			data, _ := io.ReadAll(content)
			return m.put(name, data, &was)
		}}.make()},
	"half of what was given up": {by: "context that ends", want: "Write whose context ended has left", storage: wrong{
		write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
			data := make([]byte, content.Size())
			n, err := io.ReadFull(content, data[:min(len(data), 2<<20)])
			if err != nil && err != io.EOF || ctx.Err() == nil && n < len(data) {
				rest, err := receive(ctx, content)
				if err != nil {
					return err
				}
				copy(data[n:], rest)
				n = len(data)
			}
			return m.put(name, data[:n], &was)
		}}.make()},
	"write ignores the context": {by: "context that ends", long: true, want: "Write has not returned 5s after its context", storage: wrong{
		write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
			return m.Write(context.Background(), name, content, was)
		}}.make()},
	"the whole source": {by: "write", want: "after Write of a section", storage: wrong{
		write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
			if outer, _, n := content.Outer(); n == 1000 {
				content = io.NewSectionReader(outer, 0, n)
			}
			return m.Write(ctx, name, content, was)
		}}.make()},

	"lists everything below": {by: "list", want: `List("storagetest-`, storage: wrong{
		list: func(ctx context.Context, m *memory, dir string) ([]storage.Entry, error) {
			var list []storage.Entry
			for _, e := range m.list("") {
				list = append(list, e, storage.Entry{Name: e.Name + "/x"})
			}
			return list, nil
		}}.make()},
	"lists by the beginning": {by: "list", want: "list: List(", storage: wrong{
		list: func(ctx context.Context, m *memory, dir string) ([]storage.Entry, error) {
			if dir == "." {
				return m.list(""), nil
			}
			var list []storage.Entry
			for _, e := range m.list(path.Dir(dir) + "/") {
				if e.IsDir && strings.HasPrefix(e.Name, path.Base(dir)) {
					list = append(list, m.list(path.Dir(dir)+"/"+e.Name+"/")...)
				}
			}
			return list, nil
		}}.make()},
	"lists one page": {by: "list many", want: "1000 entries, want 1055", storage: listing(func(list []storage.Entry, err error) ([]storage.Entry, error) {
		return list[:min(len(list), 1000)], err
	})},
	"lists a directory twice": {by: "list", want: "list: List(", storage: listing(func(list []storage.Entry, err error) ([]storage.Entry, error) {
		for _, e := range list {
			if e.IsDir {
				return append(list, e), err
			}
		}
		return list, err
	})},
	"lists no sizes": {by: "list", want: "Size:0", storage: listing(func(list []storage.Entry, err error) ([]storage.Entry, error) {
		for i := range list {
			list[i].Size = 0
		}
		return list, err
	})},
	"no list of what is missing": {by: "list", want: "want 0 entries", storage: listing(func(list []storage.Entry, err error) ([]storage.Entry, error) {
		if err == nil && len(list) == 0 {
			err = fs.ErrNotExist
		}
		return list, err
	})},

	"deletes nothing": {by: "delete", want: "after Delete, succeeds", storage: wrong{
		remove: func(context.Context, *memory, string) error { return nil },
	}.make()},
	"cannot delete what is missing": {by: "missing files", want: "of a missing file = ", storage: wrong{
		remove: func(ctx context.Context, m *memory, name string) error {
			if _, ok := m.get(name); !ok {
				return fs.ErrNotExist
			}
			return m.Delete(ctx, name)
		}}.make()},
	"another revision in Stat": {by: "stat", want: "like Open", storage: wrong{
		stat: func(ctx context.Context, m *memory, name string) (storage.Info, error) {
			info, err := m.Stat(ctx, name)
			info.Revision += "w/"
			return info, err
		}}.make()},
	"no size in Stat": {by: "stat", want: "like Open", storage: wrong{
		stat: func(ctx context.Context, m *memory, name string) (storage.Info, error) {
			info, err := m.Stat(ctx, name)
			return storage.Info{Revision: info.Revision}, err
		}}.make()},
	"deletes by prefix": {by: "delete", want: "after other files were deleted", storage: wrong{
		remove: func(ctx context.Context, m *memory, name string) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			for other := range m.files {
				if strings.HasPrefix(other, name) {
					delete(m.files, other)
				}
			}
			return nil
		}}.make()},

	"takes + for a space": {by: "names", want: "names: ", storage: renaming(func(name string) string { return strings.ReplaceAll(name, "+", " ") })},
	"decodes names":       {by: "names", want: "names: ", storage: renaming(func(name string) string { return strings.ReplaceAll(name, "%2F", "/") })},
	"changes names":       {by: "names", want: "names: List(", storage: relisting(strings.NewReplacer(":", "_"))},
	"refuses names":       {by: "names", want: "a mirror needs such names", storage: refusing("+")},
	"cleans names":        {by: "invalid names", want: "succeeds, want an error: the name is invalid", storage: renaming(path.Clean)},

	"lock without effect":      {by: "lock", want: "before unlock succeeds", storage: locker(func(memoryLocker) func(context.Context, string) (func() error, error) { return freeLock })},
	"lock ignores the context": {by: "lock", long: true, want: "Lock has not returned 5s after its context", storage: locker(deafLock)},
	"one lock for all":         {by: "lock", long: true, want: "lock: Lock(", storage: locker(oneLock)},
	"lock that is kept":        {by: "lock", long: true, want: "lock: Lock(", storage: locker(keptLock)},
}

// offByOne has a wrong ReadAt.
type offByOne struct{ *bytes.Reader }

func (o offByOne) ReadAt(p []byte, off int64) (int, error) { return o.Reader.ReadAt(p, off+1) }
func (offByOne) Close() error                              { return nil }

// live reads the current content of a file.
type live struct {
	m    *memory
	name string
	off  int
}

func (l *live) Read(p []byte) (int, error) {
	f, _ := l.m.get(l.name)
	n := copy(p, f.content[min(l.off, len(f.content)):])
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	l.off += n
	return n, nil
}
func (*live) Close() error { return nil }

func lookAndWrite(_ context.Context, m *memory, name string, data []byte, was storage.Revision) error {
	if f, _ := m.get(name); f.revision != was {
		return storage.ErrConflict
	}
	time.Sleep(time.Millisecond)
	return m.put(name, data, nil)
}

// perProcess uses a mutex that other processes do not share.
func perProcess() func() storage.Store {
	m := newMemory()
	return func() storage.Store {
		turn := make(chan struct{}, 1)
		return wrong{memory: m, write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
			turn <- struct{}{}
			defer func() { <-turn }()
			data, err := receive(ctx, content)
			if err != nil {
				return err
			}
			return lookAndWrite(ctx, m, name, data, was)
		}}
	}
}

// stale lists and opens old states, like a cache.
func stale() func() storage.Store {
	cache := map[string]file{}
	return wrong{open: func(ctx context.Context, m *memory, name string) (*storage.File, error) {
		f, ok := m.get(name)
		m.mu.Lock()
		old, had := cache[name]
		cache[name] = f
		m.mu.Unlock()
		if ok && had && old.revision != "" {
			return object(old), nil
		}
		return m.Open(ctx, name)
	}}.make()
}

// renaming stores files under other names.
func renaming(rename func(string) string) func() storage.Store {
	return wrong{
		open: func(ctx context.Context, m *memory, name string) (*storage.File, error) {
			return m.Open(ctx, rename(name))
		},
		write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
			return m.Write(ctx, rename(name), content, was)
		},
		remove: func(ctx context.Context, m *memory, name string) error {
			return m.Delete(ctx, rename(name))
		},
	}.make()
}

// relisting lists changed names.
func relisting(r *strings.Replacer) func() storage.Store {
	return listing(func(list []storage.Entry, err error) ([]storage.Entry, error) {
		for i := range list {
			list[i].Name = r.Replace(list[i].Name)
		}
		return slices.Compact(list), err
	})
}

func refusing(chars string) func() storage.Store {
	return wrong{write: func(ctx context.Context, m *memory, name string, content *io.SectionReader, was storage.Revision) error {
		if strings.ContainsAny(name, chars) {
			return fs.ErrInvalid
		}
		return m.Write(ctx, name, content, was)
	}}.make()
}

// wrongLocker is a memory with wrong locks.
type wrongLocker struct {
	*memory
	lock func(context.Context, string) (func() error, error)
}

func (w wrongLocker) Lock(ctx context.Context, name string) (func() error, error) {
	return w.lock(ctx, name)
}

func locker(lock func(memoryLocker) func(context.Context, string) (func() error, error)) func() storage.Store {
	return func() storage.Store {
		m := memoryLocker{newMemory(), make(chan struct{}, 1), map[string]chan struct{}{}}
		return wrongLocker{m.memory, lock(m)}
	}
}

func freeLock(context.Context, string) (func() error, error) {
	return func() error { return nil }, nil
}

// deafLock ignores the end of its context for a while.
func deafLock(m memoryLocker) func(context.Context, string) (func() error, error) {
	return func(_ context.Context, name string) (func() error, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return m.Lock(ctx, name)
	}
}

func oneLock(m memoryLocker) func(context.Context, string) (func() error, error) {
	return func(ctx context.Context, _ string) (func() error, error) { return m.Lock(ctx, "all") }
}

func keptLock(m memoryLocker) func(context.Context, string) (func() error, error) {
	return func(ctx context.Context, name string) (func() error, error) {
		_, err := m.Lock(ctx, name)
		return func() error { return nil }, err
	}
}

// memory is a correct storage. Tests replace parts of it.
type memory struct {
	mu       sync.Mutex
	files    map[string]file
	revision int
	before   func() // each Write
}

type file struct {
	content  []byte
	revision storage.Revision
}

func newMemory() *memory { return &memory{files: map[string]file{}} }

func (m *memory) get(name string) (file, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[name]
	return f, ok
}

func (m *memory) Open(ctx context.Context, name string) (*storage.File, error) {
	f, ok := m.get(name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !ok {
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	return object(f), nil
}

func object(f file) *storage.File {
	return &storage.File{ReadCloser: io.NopCloser(bytes.NewReader(f.content)), Info: storage.Info{Size: int64(len(f.content)), Revision: f.revision}}
}

func (m *memory) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	data, err := receive(ctx, content)
	if err != nil {
		return err
	}
	return m.put(name, data, &was)
}

func receive(ctx context.Context, content *io.SectionReader) ([]byte, error) {
	var b bytes.Buffer
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, err := io.CopyN(&b, content, 32<<10); err == io.EOF {
			return b.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
	}
}

// put makes data the file, whatever was there if was is nil.
func (m *memory) put(name string, data []byte, was *storage.Revision) error {
	if m.before != nil {
		m.before()
	}
	if !fs.ValidPath(name) || name == "." {
		return fs.ErrInvalid
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if was != nil && m.files[name].revision != *was {
		return fmt.Errorf("write %s: %w", name, storage.ErrConflict)
	}
	m.revision++
	m.files[name] = file{data, storage.Revision(fmt.Sprint(m.revision))}
	return nil
}

func (m *memory) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	return m.list(prefix), ctx.Err()
}

func (m *memory) list(prefix string) []storage.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[storage.Entry]bool{}
	for name, f := range m.files {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		first, _, dir := strings.Cut(rest, "/")
		e := storage.Entry{Name: first, IsDir: dir}
		if !dir {
			e.Size = int64(len(f.content))
		}
		found[e] = true
	}
	var list []storage.Entry
	for e := range maps.Keys(found) {
		list = append(list, e)
	}
	return list
}

func (m *memory) Stat(ctx context.Context, name string) (storage.Info, error) {
	f, err := m.Open(ctx, name)
	if err != nil {
		return storage.Info{}, err
	}
	return f.Info, nil
}

func (m *memory) Delete(ctx context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil {
		delete(m.files, name)
	}
	return ctx.Err()
}

// memoryLocker is a memory with locks.
type memoryLocker struct {
	*memory
	turn  chan struct{}
	locks map[string]chan struct{}
}

func (m memoryLocker) Lock(ctx context.Context, name string) (func() error, error) {
	m.turn <- struct{}{}
	if m.locks[name] == nil {
		m.locks[name] = make(chan struct{}, 1)
	}
	lock := m.locks[name]
	<-m.turn
	select {
	case lock <- struct{}{}:
		return func() error { <-lock; return nil }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
