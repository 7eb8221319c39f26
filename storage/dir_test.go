package storage_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/storage"
)

func TestNameable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, goos string
		want       error
	}{
		{"example.com:8443/a/b", "linux", nil},
		{"example.com:8443/a/b", "darwin", nil},
		{"example.com:8443/a/b", "windows", fs.ErrInvalid},
		{`example.com/a\b`, "windows", fs.ErrInvalid},
		{"example.com/a/b", "windows", nil},
		{".tofureg/change.lock", "linux", fs.ErrInvalid},
		{".TOFUREG/change.lock", "darwin", fs.ErrInvalid},
		{".Tofureg/change.lock", "windows", fs.ErrInvalid},
		{".tofureg./change.lock", "windows", fs.ErrInvalid},
		{".tofureg . /change.lock", "windows", fs.ErrInvalid},
		{"example.com/.tofureg/b", "windows", nil},
	}
	for _, test := range tests {
		err := storage.CheckFileName(test.name, test.goos)
		if !errors.Is(err, test.want) {
			t.Errorf("%s on %s: %v, want %v", test.name, test.goos, err, test.want)
		}
		if test.want != nil && strings.Contains(test.name, ":") && !strings.Contains(err.Error(), `"example.com:8443"`) {
			t.Errorf("%v does not name the host", err)
		}
	}
}

// TestDigestedSize: the revision of a file of 16 MiB is a digest of its content, and that of a larger file, which is
// not read, its size and time.
func TestDigestedSize(t *testing.T) {
	t.Parallel()
	d := &storage.Dir{Path: t.TempDir()}
	path := filepath.Join(d.Path, "list.json")
	for size, digest := range map[int64]bool{16 << 20: true, 16<<20 + 1: false} {
		must.Do(t, os.WriteFile(path, nil, 0o644))
		must.Do(t, os.Truncate(path, size))
		before := must.Get(d.Stat(t.Context(), "list.json"))(t)
		must.Do(t, os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)))
		after := must.Get(d.Stat(t.Context(), "list.json"))(t)
		if before.Size != size || (before.Revision == after.Revision) != digest || (len(after.Revision) == 64) != digest {
			t.Errorf("Stat of %d bytes: %+v, then with another time %+v; want a digest: %t", size, before, after, digest)
		}
	}
}

// TestLongNames: a name, and each element of it, has a limit, which is looked at before a directory is made.
func TestLongNames(t *testing.T) {
	t.Parallel()
	for n, test := range map[int]struct {
		name string
		want error
	}{
		255:    {"a/" + strings.Repeat("b", 255), nil},
		256:    {"a/" + strings.Repeat("b", 256), fs.ErrInvalid},
		1024:   {strings.Repeat("a/", 511) + "bb", nil},
		1025:   {strings.Repeat("a/", 512) + "b", fs.ErrInvalid},
		16_001: {strings.Repeat("a/", 8000) + "b", fs.ErrInvalid},
	} {
		d := &storage.Dir{Path: t.TempDir()}
		for _, s := range []storage.Store{d, &storage.Memory{}} {
			err := s.Write(t.Context(), test.name, io.NewSectionReader(strings.NewReader("x"), 0, 1), "")
			if want := test.want; n != 256 || s == storage.Store(d) {
				if !errors.Is(err, want) {
					t.Errorf("%T: Write of a name with %d bytes: %v, want %v", s, n, err, want)
				}
			}
		}
		if entries := must.Get(os.ReadDir(d.Path))(t); test.want != nil && len(entries) > 0 {
			t.Errorf("a refused name of %d bytes has left %v", n, entries)
		}
		staged := must.Get(d.Stage(t.Context()))(t)
		if err := staged.Commit(t.Context(), test.name+"x", ""); test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("Commit of a name with %d bytes: %v, want %v", n, err, test.want)
		}
		staged.Discard()
		if entries := must.Get(d.List(t.Context(), "."))(t); test.want != nil && len(entries) > 0 {
			t.Errorf("Commit of a refused name of %d bytes has left %v", n, entries)
		}
	}
}

// TestPipeInPlaceOfDirectory: no method waits for a pipe in place of the directory of the store, or of one in it.
func TestPipeInPlaceOfDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := disktest.Mkfifo(pipe); err != nil {
		t.Skipf("skipped: %v", err)
	}
	if list, err := (&storage.Dir{Path: dir}).List(t.Context(), "pipe"); len(list) > 0 || err != nil {
		t.Errorf("List of a pipe: %v, %v; want nothing", list, err)
	}
	d := &storage.Dir{Path: pipe}
	if _, err := d.List(t.Context(), "."); err == nil {
		t.Error("List in a store that is a pipe: no error")
	}
	if _, err := d.Open(t.Context(), "x"); err == nil {
		t.Error("Open in a store that is a pipe: no error")
	}
}
