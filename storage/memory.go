package storage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
)

// Memory is a Store in memory, for tests. The zero Memory is empty.
type Memory struct {
	mu     sync.Mutex
	files  map[string]memoryEntry
	writes int
}

type memoryEntry struct {
	content  []byte // never changed
	revision Revision
}

// begin locks the memory, unless the context has ended or the name is invalid.
func (m *Memory) begin(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	if err := CheckName(name); err != nil {
		return err
	}
	m.mu.Lock()
	return nil
}

// Stat implements [Store].
func (m *Memory) Stat(ctx context.Context, name string) (Info, error) {
	f, err := m.Open(ctx, name)
	if err != nil {
		return Info{}, err
	}
	return f.Info, nil
}

// Open implements [Store].
func (m *Memory) Open(ctx context.Context, name string) (*File, error) {
	if err := m.begin(ctx, name); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	e, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &File{content{bytes.NewReader(e.content)}, Info{int64(len(e.content)), e.revision}}, nil
}

// Write implements [Store].
func (m *Memory) Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error {
	data, err := io.ReadAll(archive.Until(ctx, io.NewSectionReader(content, 0, content.Size())))
	if err != nil {
		return err
	}
	if err := m.begin(ctx, name); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if m.files[name].revision != was {
		return fmt.Errorf("write %q: %w", name, ErrConflict)
	}
	if m.files == nil {
		m.files = map[string]memoryEntry{}
	}
	m.writes++
	m.files[name] = memoryEntry{data, Revision(fmt.Sprint("generation ", m.writes))}
	return nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, dir string) ([]Entry, error) {
	prefix, name := dir+"/", dir
	if dir == "." {
		prefix, name = "", "top" // a valid name
	}
	if err := m.begin(ctx, name); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	found := map[string]Entry{}
	for name, e := range m.files {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		first, _, below := strings.Cut(rest, "/")
		if below {
			found[first] = Entry{Name: first, IsDir: true}
		} else {
			found[first] = Entry{Name: first, Size: int64(len(e.content))}
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, name string) error {
	if err := m.begin(ctx, name); err != nil {
		return err
	}
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}
