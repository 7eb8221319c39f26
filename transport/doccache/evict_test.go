package doccache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

func number(i int) string { return fmt.Sprintf("https://registry.example.com/v1/%04d", i) }

// size returns the size of all entries.
func size(t *testing.T, dir string) (n int64) {
	t.Helper()
	for _, path := range entries(t, dir) {
		info := must.Get(os.Stat(path))(t)
		n += info.Size()
	}
	return n
}

// TestMaxBytes: at the limit all documents stay. With one more, the oldest are evicted, down to seven
// eighths of the limit.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := always(headers("Cache-Control", "max-age=60000"), `{}`)
	tr := &doccache.Transport{Base: o, Dir: dir, MaxBytes: 16 * doccache.MinSize}
	var oldest []string
	for i := range 16 {
		get(t, tr, request(t, number(i)))
		if i == 2 {
			oldest = entries(t, dir)
		}
	}
	if n := len(entries(t, dir)); n != 16 {
		t.Fatalf("%d entries, want 16", n)
	}
	for _, path := range oldest {
		at := time.Now().Add(-2 * time.Hour)
		must.Do(t, os.Chtimes(path, at, at))
	}
	want(t, tr, number(99), `{}`, 17)
	if n := len(entries(t, dir)); n != 14 {
		t.Errorf("%d entries, want 14", n)
	}
	for _, path := range oldest {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s, one of the oldest documents, was not evicted", path)
		}
	}
	want(t, tr, number(99), `{}`, 17)
	checkFiles(t, dir)
}

// TestSizes: a document above the minimum size counts with its size. A document above the limit is
// not cached.
func TestSizes(t *testing.T) {
	t.Parallel()
	measure := t.TempDir()
	o := always(headers("Content-Type", "text/plain", "Cache-Control", "max-age=60000"), strings.Repeat("x", 2*doccache.MinSize))
	get(t, &doccache.Transport{Base: o, Dir: measure}, request(t, number(0)))
	each := size(t, measure)

	for _, test := range []struct {
		max  int64
		left int
	}{{8*each + 100, 8}, {8*each - 100, 6}} {
		dir := t.TempDir()
		tr := &doccache.Transport{Base: o, Dir: dir, MaxBytes: test.max}
		for i := range 8 {
			get(t, tr, request(t, number(i)))
		}
		// The size differs by a byte or two, by the digits of the times. Seven eighths of
		// a little less than eight are six.
		if n := len(entries(t, dir)); n != test.left || size(t, dir) > test.max {
			t.Errorf("limit of %d bytes: %d bytes in %d entries, want %d entries", test.max, size(t, dir), n, test.left)
		}
	}
	for _, max := range []int64{each - 100, 10} {
		dir := t.TempDir()
		tr := &doccache.Transport{Base: o, Dir: dir, MaxBytes: max}
		get(t, tr, request(t, number(0)))
		if s := tr.Stats(); len(entries(t, dir)) != 0 || s.Failed != 0 {
			t.Errorf("a document above the limit was cached: %+v", s)
		}
	}
}

// TestOtherProcesses: entries of other processes count at the latest after a sixteenth of the limit.
func TestOtherProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := always(headers(), `{}`)
	mine := &doccache.Transport{Base: o, Dir: dir, MaxBytes: 64 * doccache.MinSize}
	get(t, mine, request(t, number(0)))
	others := &doccache.Transport{Base: o, Dir: dir, MaxBytes: -1}
	for i := range 70 {
		get(t, others, request(t, number(1000+i)))
	}
	for i := range 4 + 1 {
		get(t, mine, request(t, number(i)))
	}
	if n := len(entries(t, dir)); n > 64 {
		t.Errorf("%d entries", n)
	}
}

// TestForeign: other files are neither counted nor removed. Files of killed processes are removed.
func TestForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := filepath.Join(dir, doccache.Version)
	must.Do(t, os.Mkdir(own, 0o700))
	name := strings.Repeat("0", 64)
	old := time.Now().Add(-2 * time.Hour)
	for file, stays := range map[string]bool{
		"notes.doc": true, name + "0.doc": true, strings.Repeat("g", 64) + ".doc": true, "README": true, name + ".lock2": true,
		"../" + name + ".doc": true, ".tofureg-abc.part": false, name + ".lock": false, name + ".doc": false,
	} {
		path := filepath.Join(own, file)
		must.Do(t, os.WriteFile(path, []byte("x"), 0o600))
		must.Do(t, os.Chtimes(path, old, old))
		defer func() {
			if _, err := os.Lstat(path); (err == nil) != stays {
				t.Errorf("%s: %v", file, err)
			}
		}()
	}
	young := filepath.Join(own, strings.Repeat("1", 64)+".lock")
	must.Do(t, os.WriteFile(young, nil, 0o600))
	tr := &doccache.Transport{Base: always(headers(), `{}`), Dir: dir, MaxBytes: doccache.MinSize}
	get(t, tr, request(t, number(0)))
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("the new lock file of another process was removed: %v", err)
	}
}
