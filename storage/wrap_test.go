package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// counter counts the files that get a name. Stage is another way to give one.
type counter struct {
	storage.Store
	named *int
}

func (c counter) Unwrap() storage.Store { return c.Store }

func (c counter) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	*c.named++
	return c.Store.Write(ctx, name, content, was)
}

func (c counter) Stage(ctx context.Context) (*storage.Staged, error) {
	s, err := storage.Stage(ctx, c.Store, "")
	if err != nil {
		return nil, err
	}
	commit := func(ctx context.Context, name string, was storage.Revision) error {
		*c.named++
		return s.Commit(ctx, name, was)
	}
	return storage.NewStaged(s.File, commit, s.Discard), nil
}

// A wrapper that counts the files which are written. Locks and paths of the directory behind it stay.
func ExampleAs() {
	path, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	ctx := context.Background()
	named := 0
	store := counter{&storage.Dir{Path: path}, &named}
	if err := store.Write(ctx, "list.json", io.NewSectionReader(strings.NewReader("[]"), 0, 2), ""); err != nil {
		log.Fatal(err)
	}
	stager, _ := storage.As[storage.Stager](store)
	staged, err := stager.Stage(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer staged.Discard()
	if err := staged.Commit(ctx, "large.zip", ""); err != nil {
		log.Fatal(err)
	}
	locker, _ := storage.As[storage.Locker](store)
	unlock, err := locker.Lock(ctx, "list")
	if err != nil {
		log.Fatal(err)
	}
	defer unlock()
	_, linked := storage.As[storage.Linker](store)
	fmt.Println(named, "files written, URLs:", linked)
	// Output: 2 files written, URLs: false
}

// tracer counts waits for locks, around a store that has locks.
type tracer struct {
	storage.Store
	locks *int
}

func (t tracer) Unwrap() storage.Store { return t.Store }

func (t tracer) Lock(ctx context.Context, name string) (func() error, error) {
	locker, ok := storage.As[storage.Locker](t.Store)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	*t.locks++
	return locker.Lock(ctx, name)
}

// A wrapper that counts how often a lock is taken.
func ExampleLocker() {
	path, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	locks := 0
	locker, _ := storage.As[storage.Locker](tracer{&storage.Dir{Path: path}, &locks})
	for range 2 {
		unlock, err := locker.Lock(context.Background(), "list")
		if err != nil {
			log.Fatal(err)
		}
		if err := unlock(); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(locks)
	// Output: 2
}

// published is a store whose files a web server serves.
type published struct {
	storage.Store
	links *int
}

func (p published) Unwrap() storage.Store { return p.Store }

func (p published) URL(_ context.Context, name string, _ time.Duration) (string, error) {
	*p.links++
	return "https://files.example.com/" + name, nil
}

// A wrapper that counts links.
func ExampleLinker() {
	links := 0
	linker, _ := storage.As[storage.Linker](published{&storage.Memory{}, &links})
	link, err := linker.URL(context.Background(), "a.zip", time.Hour)
	fmt.Println(link, err, links)
	// Output: https://files.example.com/a.zip <nil> 1
}

// located is a store that counts the paths of its files that are asked for.
type located struct {
	storage.Store
	paths *int
}

func (l located) Unwrap() storage.Store { return l.Store }

func (l located) FilePath(name string) (string, error) {
	pather, ok := storage.As[storage.Pather](l.Store)
	if !ok {
		return "", errors.ErrUnsupported
	}
	*l.paths++
	return pather.FilePath(name)
}

// A wrapper that counts paths. It is for stores that have paths only.
func ExamplePather() {
	paths := 0
	pather, _ := storage.As[storage.Pather](located{&storage.Dir{Path: "mirror"}, &paths})
	path, err := pather.FilePath("a.zip")
	fmt.Println(filepath.ToSlash(path), err, paths)
	// Output: mirror/a.zip <nil> 1
}
