// Package stored keeps documents in a store that several processes change. It reads, writes and erases them in a
// [storage.Store] on the condition that nothing else has changed them.
package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/storage"
)

// Limits of documents.
const (
	MaxDocument = 16 << 20 // bytes
	MaxList     = 100_000  // elements of a list or object that Load reads
)

// ErrDamaged means that a document is invalid or too large.
var ErrDamaged = errors.New("damaged document")

// ErrNoStore is the error of Open, Read and Walk for a nil store. Each use of a store begins with one of them.
var ErrNoStore = errors.New("the store is nil")

// Document is the content of a document.
type Document struct {
	Data     []byte           // nil if the file is missing or too large
	Revision storage.Revision // empty if the file is missing
}

// Open opens a file.
func Open(ctx context.Context, s storage.Store, name string) (*storage.File, error) {
	if s == nil {
		return nil, ErrNoStore
	}
	return s.Open(ctx, name)
}

// Read reads a document of at most MaxDocument bytes. If it is too large, Read returns its revision and an error
// that wraps ErrDamaged.
func Read(ctx context.Context, s storage.Store, name string) (Document, error) {
	return ReadAtMost(ctx, s, name, MaxDocument)
}

// ReadAtMost is Read with another limit in bytes.
func ReadAtMost(ctx context.Context, s storage.Store, name string, limit int64) (Document, error) {
	o, err := Open(ctx, s, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Document{}, nil
	}
	if err != nil {
		return Document{}, err
	}
	defer o.Close()
	var data bytes.Buffer
	if o.Size <= limit {
		data.Grow(int(max(0, o.Size)) + bytes.MinRead)
		if _, err := data.ReadFrom(io.LimitReader(archive.Until(ctx, o), limit+1)); err != nil {
			return Document{}, fmt.Errorf("read %s: %w", name, err)
		}
	}
	if max(o.Size, int64(data.Len())) > limit {
		return Document{Revision: o.Revision}, fmt.Errorf("%s: %w: more than %d bytes: %w", name, ErrDamaged, limit, failure.ErrTooLarge)
	}
	return Document{data.Bytes(), o.Revision}, nil
}

// Write replaces a document that has not changed since it was read. It does nothing if the content is the same.
func Write(ctx context.Context, s storage.Store, name string, data []byte, old Document) error {
	switch {
	case old.Data != nil && bytes.Equal(old.Data, data):
		return nil
	case len(data) > MaxDocument:
		return fmt.Errorf("%s would have more than %d bytes: %w", name, MaxDocument, failure.ErrTooLarge)
	}
	return Put(ctx, s, name, data, old.Revision)
}

// Decode decodes a JSON object of at most [jsondoc.MaxMembers] members into v, a pointer to a pointer or to a map.
func Decode(data []byte, v any) error {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return fmt.Errorf("%w: not a JSON object", ErrDamaged)
	}
	if err := jsondoc.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// Load reads a document of at most limit bytes into v as Decode does; if it is missing, v stays as it is. A list or object
// in it has at most MaxList elements. The error wraps ErrDamaged if the document is invalid or too large; then v may have a
// part of it.
func Load(ctx context.Context, s storage.Store, name string, limit int64, v any) (Document, error) {
	doc, err := ReadAtMost(ctx, s, name, limit)
	if err != nil || doc.Data == nil {
		return doc, err
	}
	if err = jsondoc.CheckList(doc.Data, "members", MaxList); err != nil {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	} else {
		err = Decode(doc.Data, v)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return doc, err
}

// Encode formats a document like the CLI.
func Encode(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }

// Retry calls change until it does not conflict with another writer, at most 100 times.
func Retry(ctx context.Context, name string, change func() error) error {
	return RetryAtMost(ctx, 100, name, change)
}

// RetryAtMost is Retry with another limit.
func RetryAtMost(ctx context.Context, tries int, name string, change func() error) error {
	var err error
	for range tries {
		err = change()
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
		// Wait for a random time, so that two writers do not conflict again.
		if err := flight.Sleep(ctx, rand.N(10*time.Millisecond)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w, %d times", name, err, tries)
}

// Each calls do with 0 to n-1, at most limit calls concurrently, until one fails.
func Each(ctx context.Context, limit, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return fault.Ended(ctx)
			}
			return do(ctx, i)
		})
	}
	return g.Wait()
}

// Walk calls visit for all that is in dir, and, so far as visit returns true, in directories below it, in that many
// levels. Level is 0 in dir.
func Walk(ctx context.Context, s storage.Store, dir string, levels int, visit func(level int, name string, e storage.Entry) bool) error {
	if s == nil {
		return ErrNoStore
	}
	dirs := []string{dir}
	for level := range levels {
		var below []string
		for _, dir := range dirs {
			entries, err := s.List(ctx, dir)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if name := path.Join(dir, e.Name); visit(level, name, e) && e.IsDir {
					below = append(below, name)
				}
			}
		}
		dirs = below
	}
	return nil
}
