package mirrortest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/storage"
)

// Bucket is a storage without locks and without a local path, like an object store.
type Bucket struct {
	mu sync.Mutex

	// Content is the content of each file. A test must not use it during a call of a mirror.
	Content map[string]string

	// Generations lets revisions count writes. Otherwise equal contents have equal revisions.
	Generations bool

	writes  int
	written map[string]int // by name, with Generations
}

func (b *Bucket) revision(name string) storage.Revision {
	if b.Generations {
		return storage.Revision(fmt.Sprint("generation ", b.written[name]))
	}
	return storage.Revision("v" + b.Content[name])
}

// Open implements storage.Store.
func (b *Bucket) Open(ctx context.Context, name string) (*storage.File, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.Content[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &storage.File{ReadCloser: io.NopCloser(io.MultiReader(strings.NewReader(data))), Info: storage.Info{Size: int64(len(data)), Revision: b.revision(name)}}, ctx.Err()
}

// Stat implements storage.Store.
func (b *Bucket) Stat(ctx context.Context, name string) (storage.Info, error) {
	f, err := b.Open(ctx, name)
	if err != nil {
		return storage.Info{}, err
	}
	return f.Info, nil
}

// Write implements storage.Store.
func (b *Bucket) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.Content[name]
	if ok != (was != "") || ok && b.revision(name) != was {
		return fmt.Errorf("put %s: %w", name, storage.ErrConflict)
	}
	if b.Content == nil {
		b.Content, b.written = map[string]string{}, map[string]int{}
	}
	if b.Generations {
		b.writes++
		b.written[name] = b.writes
	}
	b.Content[name] = string(data)
	return ctx.Err()
}

// Put replaces the content of a file, also while a mirror uses the storage.
func (b *Bucket) Put(name, content string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Content[name] = content
}

// List implements storage.Store.
func (b *Bucket) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[string]storage.Entry{}
	for name, data := range b.Content {
		rest, ok := strings.CutPrefix(name, dir+"/")
		if dir == "." {
			rest, ok = name, true
		}
		if !ok {
			continue
		}
		first, _, below := strings.Cut(rest, "/")
		if below {
			seen[first] = storage.Entry{Name: first, IsDir: true}
		} else {
			seen[first] = storage.Entry{Name: first, Size: int64(len(data))}
		}
	}
	return slices.Collect(maps.Values(seen)), ctx.Err()
}

// Delete implements storage.Store.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.Content, name)
	return ctx.Err()
}
