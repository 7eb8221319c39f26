package doccache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/regclient/doccache"
)

func number(i int) string { return fmt.Sprintf("https://registry.example.com/v1/%04d", i) }

// size returns how much all entries take.
func size(t *testing.T, dir string) (n int64) {
	t.Helper()
	for _, path := range entries(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// TestMaxEntries: as many as are allowed stay; one more, and those that were not used for
// longest go.
func TestMaxEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := always(headers("Cache-Control", "max-age=60000"), `{}`)
	tr := &doccache.Transport{Base: o, Dir: dir, MaxEntries: 16}
	var oldest string
	for i := range 16 {
		get(t, tr, request(t, number(i)))
		if i == 0 {
			oldest = entries(t, dir)[0]
		}
	}
	if n, s := len(entries(t, dir)), tr.Stats(); n != 16 || s.Evicted != 0 {
		t.Fatalf("%d entries, %+v; want 16", n, s)
	}
	// All were used some hours ago, the first one before all others.
	for _, path := range entries(t, dir) {
		at := time.Now().Add(-2 * time.Hour)
		if path == oldest {
			at = at.Add(-time.Hour)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	want(t, tr, number(0), `{}`, 16)
	want(t, tr, number(99), `{}`, 17)
	if n, s := len(entries(t, dir)), tr.Stats(); n != 14 || s.Evicted != 3 {
		t.Errorf("%d entries, %+v; want 14", n, s)
	}
	want(t, tr, number(0), `{}`, 17)
	want(t, tr, number(99), `{}`, 17)
	clean(t, dir)
}

// TestMaxBytes is the same for the size, which counts what the file takes.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	measure := t.TempDir()
	o := always(headers("Content-Type", "text/plain", "Cache-Control", "max-age=60000"), strings.Repeat("x", 1000))
	get(t, &doccache.Transport{Base: o, Dir: measure}, request(t, number(0)))
	each := size(t, measure)

	for _, test := range []struct {
		max  int64
		left int
	}{{8 * each, 8}, {8*each - 1, 7}} {
		dir := t.TempDir()
		tr := &doccache.Transport{Base: o, Dir: dir, MaxBytes: test.max}
		for i := range 8 {
			get(t, tr, request(t, number(i)))
		}
		// The last may be a byte or two longer or shorter, by the digits of its times.
		if n := len(entries(t, dir)); n < test.left-1 || n > test.left || size(t, dir) > test.max {
			t.Errorf("of at most %d bytes there are %d, in %d entries", test.max, size(t, dir), n)
		}
	}
	for _, max := range []int64{each - 10, 10} {
		dir := t.TempDir()
		tr := &doccache.Transport{Base: o, Dir: dir, MaxBytes: max}
		get(t, tr, request(t, number(0)))
		if s := tr.Stats(); len(entries(t, dir)) != 0 || s.Failed != 0 {
			t.Errorf("what is larger than all may be was kept: %+v", s)
		}
	}
}

// TestNoBound: a negative bound is none.
func TestNoBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tr := &doccache.Transport{Base: always(headers(), `{}`), Dir: dir, MaxBytes: -1, MaxEntries: -1}
	for i := range 300 {
		get(t, tr, request(t, number(i)))
	}
	if n := len(entries(t, dir)); n != 300 {
		t.Errorf("%d entries", n)
	}
}

// TestOthersCount: what another process has written counts, though not at once.
func TestOthersCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := always(headers(), `{}`)
	mine := &doccache.Transport{Base: o, Dir: dir, MaxEntries: 400}
	get(t, mine, request(t, number(0)))
	others := &doccache.Transport{Base: o, Dir: dir, MaxEntries: -1, MaxBytes: -1}
	for i := range 300 {
		get(t, others, request(t, number(1000+i)))
	}
	for i := range 256 {
		get(t, mine, request(t, number(i)))
	}
	if n := len(entries(t, dir)); n > 400 {
		t.Errorf("%d entries", n)
	}
}

// TestForeign: files that are not ours are neither counted nor removed; what killed
// processes have left is removed.
func TestForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := strings.Repeat("0", 52)
	old := time.Now().Add(-2 * time.Hour)
	for file, stays := range map[string]bool{
		"notes.doc": true, name + "0.doc": true, strings.Repeat("g", 52) + ".doc": true, "README": true, name + ".lock2": true,
		".tofureg-abc.part": false, name + ".lock": false,
	} {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Lstat(path); (err == nil) != stays {
				t.Errorf("%s: %v", file, err)
			}
		}()
	}
	if err := os.Symlink(filepath.Join(dir, "README"), filepath.Join(dir, name+".doc")); err != nil {
		t.Log(err)
	}
	tr := &doccache.Transport{Base: always(headers(), `{}`), Dir: dir, MaxEntries: 1}
	get(t, tr, request(t, number(0)))
	if _, err := os.Lstat(filepath.Join(dir, name+".doc")); err == nil {
		t.Error("a link in the place of an entry is still there")
	}
	if s := tr.Stats(); s.Evicted != 0 {
		t.Errorf("%+v", s)
	}
}
