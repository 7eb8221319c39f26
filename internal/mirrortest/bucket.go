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

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// Bucket is a storage without locks and without a local path, like an object store.
type Bucket struct {
	mu sync.Mutex

	// Content is the content of each file. A test must not use it during a call of a mirror.
	Content map[string]string
}

// Open implements mirrordir.Storage.
func (b *Bucket) Open(ctx context.Context, name string) (*mirrordir.Object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.Content[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &mirrordir.Object{ReadCloser: io.NopCloser(io.MultiReader(strings.NewReader(data))), Size: int64(len(data)), Revision: mirrordir.Revision("v" + data)}, ctx.Err()
}

// Write implements mirrordir.Storage.
func (b *Bucket) Write(ctx context.Context, name string, content *io.SectionReader, was mirrordir.Revision) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old, ok := b.Content[name]
	if ok != (was != "") || ok && mirrordir.Revision("v"+old) != was {
		return fmt.Errorf("put %s: %w", name, mirrordir.ErrConflict)
	}
	if b.Content == nil {
		b.Content = map[string]string{}
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

// List implements mirrordir.Storage.
func (b *Bucket) List(ctx context.Context, dir string) ([]mirrordir.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[string]mirrordir.Entry{}
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
			seen[first] = mirrordir.Entry{Name: first, IsDir: true}
		} else {
			seen[first] = mirrordir.Entry{Name: first, Size: int64(len(data))}
		}
	}
	return slices.Collect(maps.Values(seen)), ctx.Err()
}

// Delete implements mirrordir.Storage.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.Content, name)
	return ctx.Err()
}
