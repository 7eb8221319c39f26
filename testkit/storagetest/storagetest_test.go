package storagetest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/storage/bucket"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/storagetest"
)

// TestDir tests storage.Dir and checks that no files are left.
func TestDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, storagetest.TestStore(t.Context(), &storage.Dir{Path: dir}, &storage.Dir{Path: dir}, &storage.Dir{Path: dir}))
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != ".tofureg" {
			t.Errorf("the test has left %s", e.Name())
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestStorageMemory tests storage.Memory and checks that no files are left.
func TestStorageMemory(t *testing.T) {
	t.Parallel()
	m := &storage.Memory{}
	must.Do(t, storagetest.TestStore(t.Context(), m, m))
	if left := must.Get(m.List(t.Context(), "."))(t); len(left) != 0 {
		t.Errorf("the test has left %v", left)
	}
}

// TestMemory tests a storage in memory, with and without locks.
func TestMemory(t *testing.T) {
	t.Parallel()
	m := newMemory()
	must.Do(t, storagetest.TestStore(t.Context(), m, m))
	locker := memoryLocker{m, make(chan struct{}, 1), map[string]chan struct{}{}}
	must.Do(t, storagetest.TestStore(t.Context(), locker))
	if len(m.files) != 0 {
		t.Errorf("the test has left %d files", len(m.files))
	}
}

// TestMemoryServes: a store without a server passes the tests of what the SDK does with stores.
func TestMemoryServes(t *testing.T) {
	t.Parallel()
	published, mirrored := &storage.Memory{}, &storage.Memory{}
	if err := storagetest.TestPublish(t.Context(), func() storage.Store { return published }); err != nil {
		t.Errorf("TestPublish(Memory) = %v", err)
	}
	if err := storagetest.TestMirror(t.Context(), func() storage.Store { return mirrored }, nil); err != nil {
		t.Errorf("TestMirror(Memory) = %v", err)
	}
}

// damaging is a store that changes a byte of each archive.
type damaging struct{ *storage.Memory }

func (d damaging) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	data := make([]byte, content.Size())
	if _, err := content.ReadAt(data, 0); err != nil && err != io.EOF {
		return err
	}
	if strings.HasSuffix(name, ".zip") {
		data[0] ^= 1
	}
	return d.Memory.Write(ctx, name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), was)
}

// TestFinds checks that a damaging store, and one that believes each answer of its server, are found.
func TestFinds(t *testing.T) {
	t.Parallel()
	open := func() func() storage.Store {
		store := damaging{&storage.Memory{}}
		return func() storage.Store { return store }
	}
	if err := storagetest.TestPublish(t.Context(), open()); err == nil {
		t.Error("TestPublish found no damaged archive")
	}
	if err := storagetest.TestMirror(t.Context(), open(), nil); err == nil {
		t.Error("TestMirror found no damaged archive")
	}
	err := storagetest.TestServer(t.Context(), func(string, *http.Client) storage.Store { return &storage.Memory{} }, func([]bucket.Object, string) string { return "{}" })
	for _, want := range []string{"List at http: ", "List of an answer with HTML: ", "endless: List = ", "List of no answer with a context that ends: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("TestServer of a store without requests = %v, want %q in it", err, want)
		}
	}
}

// TestServingEnds checks that the tests of what the SDK does with stores end with their context.
func TestServingEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open := func() storage.Store { return &storage.Memory{} }
	for name, err := range map[string]error{
		"TestPublish": storagetest.TestPublish(ctx, open), "TestMirror": storagetest.TestMirror(ctx, open, nil),
		"TestServer": storagetest.TestServer(ctx, func(string, *http.Client) storage.Store { return open() }, func([]bucket.Object, string) string { return "{}" }),
	} {
		if err == nil || name != "TestServer" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context = %v, want an error", name, err)
		}
	}
}

// TestBroken checks that each wrong storage is found by the check for it.
func TestBroken(t *testing.T) {
	t.Parallel()
	for name, test := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			find := func(t *testing.T) {
				var others []storage.Store
				first := test.storage()
				for range test.others {
					others = append(others, test.storage())
				}
				err := storagetest.StoreCheck(t.Context(), test.by, first, others...)
				if err == nil {
					t.Fatal("nothing was found")
				}
				if text := err.Error(); !strings.Contains(text, test.want) {
					t.Errorf("found is\n%s\nwant %q", text, test.want)
				}
			}
			if !test.long {
				find(t)
				return
			}
			synctest.Test(t, func(t *testing.T) {
				find(t)
				time.Sleep(time.Hour) // for calls that continue
			})
		})
	}
}

// TestAllBroken checks that all checks end and report errors for a storage that always fails.
func TestAllBroken(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	err := storagetest.TestStore(t.Context(), wrong{
		memory: newMemory(),
		open:   func(context.Context, *memory, string) (*storage.File, error) { return nil, refused },
		write:  func(context.Context, *memory, string, *io.SectionReader, storage.Revision) error { return refused },
		list:   func(context.Context, *memory, string) ([]storage.Entry, error) { return nil, refused },
		remove: func(context.Context, *memory, string) error { return refused },
	})
	if err == nil {
		t.Fatal("nothing was found")
	}
	for _, check := range storagetest.CheckNames() {
		if check == "lock" { // a memory has no locks
			continue
		}
		if !strings.Contains("\n"+err.Error(), "\n"+check+": ") {
			t.Errorf("the check %q has found nothing", check)
		}
	}
}

// TestEnds checks that a canceled test returns only the error of its context.
func TestEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	m := newMemory()
	writes := 0
	m.before = func() {
		if writes++; writes == 5 {
			cancel(why)
		}
	}
	err := storagetest.TestStore(ctx, m)
	if !errors.Is(err, why) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want only %v", err, why)
	}
	if len(m.files) != 0 {
		t.Errorf("the test has left %d files", len(m.files))
	}
}

// careless is a store that ignores the condition of one write in 2000.
type careless struct {
	storage.Memory
	writes atomic.Int64
}

func (c *careless) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	err := c.Memory.Write(ctx, name, content, was)
	if c.writes.Add(1)%2000 == 0 && errors.Is(err, storage.ErrConflict) {
		if info, statErr := c.Stat(ctx, name); statErr == nil {
			err = c.Memory.Write(ctx, name, content, info.Revision)
		}
	}
	return err
}

// TestRaceWrites finds a rare fault that TestStore hardly finds.
func TestRaceWrites(t *testing.T) {
	t.Parallel()
	must.Do(t, storagetest.RaceWrites(t.Context(), 2000, &storage.Memory{}))
	if err := storagetest.RaceWrites(t.Context(), 5000, &careless{}); err == nil {
		t.Error("RaceWrites finds no fault in a store that ignores conditions sometimes")
	}
}
