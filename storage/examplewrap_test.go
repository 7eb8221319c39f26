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
	"time"

	"github.com/tofureg/tofureg/storage"
)

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
