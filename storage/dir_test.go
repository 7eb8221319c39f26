package storage_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/must"
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
