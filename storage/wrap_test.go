package storage_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/storage"
)

// hidden has the methods of a Store only.
type hidden struct{ storage.Store }

// wrapped has also the abilities of a Store.
type wrapped struct{ hidden }

func (w wrapped) Unwrap() storage.Store { return w.Store }

// elsewhere has other paths.
type elsewhere struct{ storage.Store }

func (e elsewhere) Unwrap() storage.Store { return e.Store }

func (elsewhere) FilePath(name string) (string, error) { return "/elsewhere/" + name, nil }

// embedding has the methods of a directory, but those of a Store are its own.
type embedding struct{ *storage.Dir }

// embeddingWrapper has Unwrap only from what it embeds.
type embeddingWrapper struct{ wrapped }

func (w embeddingWrapper) Write(context.Context, string, *io.SectionReader, storage.Revision) error {
	return errors.ErrUnsupported
}

func wrap(s storage.Store) storage.Store { return wrapped{hidden{s}} }

func TestAs(t *testing.T) {
	t.Parallel()
	dir := &storage.Dir{Path: t.TempDir()}
	for name, test := range map[string]struct {
		store    storage.Store
		locks    bool
		path     string // of the file "x"
		hasPaths bool
	}{
		"nothing":                {store: nil},
		"memory":                 {store: &storage.Memory{}},
		"wrapped memory":         {store: wrap(&storage.Memory{})},
		"directory":              {dir, true, filepath.Join(dir.Path, "x"), true},
		"wrapped twice":          {wrap(wrap(dir)), true, filepath.Join(dir.Path, "x"), true},
		"hidden":                 {store: hidden{dir}},
		"hidden, then wrapped":   {store: wrap(hidden{dir})},
		"embedded":               {store: embedding{dir}},
		"embedded, then wrapped": {store: wrap(embedding{dir})},
		"embedded wrapper":       {store: embeddingWrapper{wrapped{hidden{dir}}}},
		"with other paths":       {elsewhere{dir}, true, "/elsewhere/x", true},
		"other paths, wrapped":   {wrap(elsewhere{wrap(dir)}), true, "/elsewhere/x", true},
		"wrapper around nothing": {store: wrap(nil)},
	} {
		if _, ok := storage.As[storage.Locker](test.store); ok != test.locks {
			t.Errorf("%s: As[Locker] = %t, want %t", name, ok, test.locks)
		}
		if _, ok := storage.As[storage.Stager](test.store); ok != test.locks {
			t.Errorf("%s: As[Stager] = %t, want %t", name, ok, test.locks)
		}
		if _, ok := storage.As[storage.Linker](test.store); ok {
			t.Errorf("%s: As[Linker] = true, want false", name)
		}
		pather, ok := storage.As[storage.Pather](test.store)
		if ok != test.hasPaths {
			t.Errorf("%s: As[Pather] = %t, want %t", name, ok, test.hasPaths)
		} else if ok {
			if path := must.Get(pather.FilePath("x"))(t); path != test.path {
				t.Errorf("%s: FilePath(x) = %s, want %s", name, path, test.path)
			}
		}
	}
}

// TestStage gives a staged file its name on a condition, in any store, and leaves nothing behind.
func TestStage(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]storage.Store{
		"memory": &storage.Memory{}, "directory": &storage.Dir{Path: t.TempDir()},
		"wrapped": wrap(wrap(&storage.Dir{Path: t.TempDir()})), "hidden": hidden{&storage.Dir{Path: t.TempDir()}},
	} {
		temp := t.TempDir()
		for _, want := range []error{nil, storage.ErrConflict} {
			staged := must.Get(storage.Stage(t.Context(), s, temp))(t)
			must.Get(staged.File.WriteString("content"))(t)
			if err := staged.Commit(t.Context(), "a/b.zip", ""); !errors.Is(err, want) {
				t.Errorf("%s: Commit of a new file: %v, want %v", name, err, want)
			}
			staged.Discard()
			staged.Discard()
		}
		if info := must.Get(s.Stat(t.Context(), "a/b.zip"))(t); info.Size != 7 {
			t.Errorf("%s: the file has %d bytes, want 7", name, info.Size)
		}
		if entries := must.Get(s.List(t.Context(), "."))(t); len(entries) != 1 {
			t.Errorf("%s: the store has %v, want only the directory", name, entries)
		}
		if left := must.Get(os.ReadDir(temp))(t); len(left) > 0 {
			t.Errorf("%s: the directory for temporary files has %v, want none", name, left)
		}
	}
}
