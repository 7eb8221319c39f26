package dirtest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// memory is a correct storage. Tests replace parts of it.
type memory struct {
	mu       sync.Mutex
	files    map[string]file
	revision int
	before   func() // each Write
}

type file struct {
	content  []byte
	revision mirrordir.Revision
}

func newMemory() *memory { return &memory{files: map[string]file{}} }

func (m *memory) get(name string) (file, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[name]
	return f, ok
}

func (m *memory) Open(ctx context.Context, name string) (*mirrordir.Object, error) {
	f, ok := m.get(name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !ok {
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	return object(f), nil
}

func object(f file) *mirrordir.Object {
	return &mirrordir.Object{ReadCloser: io.NopCloser(bytes.NewReader(f.content)), Size: int64(len(f.content)), Revision: f.revision}
}

func (m *memory) Write(ctx context.Context, name string, content *io.SectionReader, was mirrordir.Revision) error {
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
func (m *memory) put(name string, data []byte, was *mirrordir.Revision) error {
	if m.before != nil {
		m.before()
	}
	if !fs.ValidPath(name) || name == "." {
		return fs.ErrInvalid
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if was != nil && m.files[name].revision != *was {
		return fmt.Errorf("write %s: %w", name, mirrordir.ErrConflict)
	}
	m.revision++
	m.files[name] = file{data, mirrordir.Revision(fmt.Sprint(m.revision))}
	return nil
}

func (m *memory) List(ctx context.Context, dir string) ([]mirrordir.Entry, error) {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	return m.list(prefix), ctx.Err()
}

func (m *memory) list(prefix string) []mirrordir.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[mirrordir.Entry]bool{}
	for name, f := range m.files {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		first, _, dir := strings.Cut(rest, "/")
		e := mirrordir.Entry{Name: first, Dir: dir}
		if !dir {
			e.Size = int64(len(f.content))
		}
		found[e] = true
	}
	var list []mirrordir.Entry
	for e := range maps.Keys(found) {
		list = append(list, e)
	}
	return list
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
