package doccache_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

// addEntry adds an entry to a directory and returns its path.
func addEntry(t *testing.T, dir string, list ...string) string {
	t.Helper()
	before := entries(t, dir)
	get(t, &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{}`), Dir: dir}, request(t, doc, list...))
	for _, path := range entries(t, dir) {
		if !slices.Contains(before, path) {
			return path
		}
	}
	t.Fatal("nothing was kept")
	return ""
}

// TestDamaged: a file with any changed bit is not used, and is replaced.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := addEntry(t, dir)
	good := must.Get(os.ReadFile(path))(t)
	damaged := map[string][]byte{"empty": {}, "longer": append(good[:len(good):len(good)], 0)}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1 << (i % 8)
		damaged[fmt.Sprintf("byte %d is wrong", i)] = bad
		damaged[fmt.Sprintf("%d bytes are left", i)] = good[:i]
	}
	for name, bad := range damaged {
		must.Do(t, os.WriteFile(path, bad, 0o600))
		o := always(headers("Cache-Control", "max-age=600"), `{"new":true}`)
		tr := &doccache.Transport{Base: o, Dir: dir}
		want(t, tr, doc, `{"new":true}`, 1)
		want(t, tr, doc, `{"new":true}`, 1)
		if t.Failed() {
			t.Fatalf("the file is damaged: %s", name)
		}
	}
	checkFiles(t, dir)
}

// TestPlanted: links, directories and other files at the path of an entry are not followed, read or
// written.
func TestPlanted(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "precious")
	copyOf := func(t *testing.T, path string) string {
		to := filepath.Join(t.TempDir(), "copy")
		must.Do(t, os.WriteFile(to, must.Get(os.ReadFile(path))(t), 0o600))
		return to
	}
	must.Do(t, os.WriteFile(outside, []byte("precious"), 0o600))
	for name, plant := range map[string]func(t *testing.T, path string) error{
		"link to a file":         func(_ *testing.T, path string) error { return disktest.Symlink(outside, path) },
		"link to a good entry":   func(t *testing.T, path string) error { return disktest.Symlink(copyOf(t, path+".was"), path) },
		"link to nowhere":        func(_ *testing.T, path string) error { return disktest.Symlink(outside+".none", path) },
		"link to itself":         func(_ *testing.T, path string) error { return disktest.Symlink(path, path) },
		"pipe":                   func(_ *testing.T, path string) error { return disktest.Mkfifo(path) },
		"directory":              func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) },
		"directory that is full": func(_ *testing.T, path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) },
		"huge file":              func(_ *testing.T, path string) error { return sparse(path, 1<<40) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := addEntry(t, dir)
			must.Do(t, os.Rename(path, path+".was"))
			if err := plant(t, path); err != nil {
				t.Skipf("skipped: this cannot be made here: %v", err)
			}
			o := always(headers("Cache-Control", "max-age=600"), `{"new":true}`)
			tr := &doccache.Transport{Base: o, Dir: dir}
			want(t, tr, doc, `{"new":true}`, 1)
			get(t, tr, request(t, doc))
			if data, err := os.ReadFile(outside); err != nil || string(data) != "precious" {
				t.Errorf("the target of a link contains %q, %v", data, err)
			}
			if _, err := os.Lstat(outside + ".none"); err == nil {
				t.Error("the target of a link was created")
			}
		})
	}
}

// sparse creates a large file that takes no space.
func sparse(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(size)
}

// TestNotPrivate: a directory that other users can access is not used.
func TestNotPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: directories have no mode on windows")
	}
	for _, mode := range []os.FileMode{0o701, 0o710, 0o740, 0o722, 0o755, 0o777} {
		dir := t.TempDir()
		addEntry(t, dir)
		must.Do(t, os.Chmod(filepath.Join(dir, doccache.Version), mode))
		tr := &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{"new":true}`), Dir: dir}
		want(t, tr, doc, `{"new":true}`, 1)
		want(t, tr, doc, `{"new":true}`, 2)
		if s := tr.Stats(); s.Failed != 2 {
			t.Errorf("mode %v: %+v, want two failures", mode, s)
		}
	}
}

// TestLinkedDirectory: a link at the path of the private directory is not followed out of Dir.
func TestLinkedDirectory(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	must.Do(t, os.Mkdir(other, 0o700))
	if err := disktest.Symlink(other, filepath.Join(dir, doccache.Version)); err != nil {
		t.Skipf("skipped: links cannot be made here: %v", err)
	}
	tr := &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{}`), Dir: dir}
	want(t, tr, doc, `{}`, 1)
	if names, err := os.ReadDir(other); err != nil || len(names) > 0 || tr.Stats().Failed != 1 {
		t.Errorf("the target of the link contains %v, %v; %+v", names, err, tr.Stats())
	}
}

// TestDirectoryMode: a new directory is private.
func TestDirectoryMode(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	addEntry(t, dir)
	for _, path := range []string{filepath.Join(dir, doccache.Version), dir, filepath.Dir(dir)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

// TestDirectoryChanges: the directory may be removed or replaced during use. It is not used while
// other users can access it.
func TestDirectoryChanges(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	o := always(headers("Cache-Control", "max-age=600"), `{}`)
	tr := &doccache.Transport{Base: o, Dir: dir}
	want(t, tr, doc, `{}`, 1)
	must.Do(t, os.RemoveAll(dir))
	want(t, tr, doc, `{}`, 2)
	want(t, tr, doc, `{}`, 2)

	must.Do(t, os.RemoveAll(dir))
	want(t, &doccache.Transport{Base: o, Dir: dir}, doc, `{}`, 3)
	want(t, tr, doc, `{}`, 3) // from the new directory
	if s := tr.Stats(); s.Hits != 2 || s.Failed != 0 {
		t.Errorf("%+v, want 2 hits and no failures", s)
	}
	if runtime.GOOS == "windows" {
		return
	}
	own := filepath.Join(dir, doccache.Version)
	must.Do(t, os.Chmod(own, 0o755))
	want(t, tr, doc, `{}`, 4)
	want(t, tr, doc, `{}`, 5)
	must.Do(t, os.Chmod(own, 0o700))
	want(t, tr, doc, `{}`, 5)
}

// TestUnusable: if the directory cannot be used, requests go to the server, with one warning.
func TestUnusable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, []byte("x"), 0o600))
	var log bytes.Buffer
	for i, dir := range []string{file, filepath.Join(file, "below"), "a\x00b"} {
		log.Reset()
		o := always(headers("Cache-Control", "max-age=600"), `{}`)
		tr := &doccache.Transport{Base: o, Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		want(t, tr, doc, `{}`, 1)
		want(t, tr, doc, `{}`, 2)
		if s := tr.Stats(); s.Failed != 2 || strings.Count(log.String(), "level=WARN") != 1 {
			t.Errorf("%d: %+v\n%s", i, s, log.String())
		}
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 600, func(t *testing.T, dir string) {
		small := always(headers("Cache-Control", "max-age=600"), `{}`)
		tr := &doccache.Transport{Base: small, Dir: dir}
		want(t, tr, doc, `{}`, 1)
		want(t, tr, doc, `{}`, 1)
		large := always(headers("Cache-Control", "max-age=600"), `"`+strings.Repeat("x", 1000)+`"`)
		tr = &doccache.Transport{Base: large, Dir: dir}
		for i := range 2 {
			want(t, tr, number(1), `"`+strings.Repeat("x", 1000)+`"`, i+1)
		}
		if s := tr.Stats(); s.Failed != 2 || s.Misses != 2 {
			t.Errorf("%+v", s)
		}
		if n := len(entries(t, dir)); n != 1 {
			t.Errorf("%d entries", n)
		}
		checkFiles(t, dir)
	})
}

// TestFullOfLeftovers: files of killed processes are removed when the disk is full.
func TestFullOfLeftovers(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 600, func(t *testing.T, dir string) {
		left := filepath.Join(dir, doccache.Version, ".tofureg-dead.part")
		must.Do(t, os.Mkdir(filepath.Dir(left), 0o700))
		must.Do(t, os.WriteFile(left, nil, 0o600))
		large := always(headers(), `"`+strings.Repeat("x", 1000)+`"`)
		get(t, &doccache.Transport{Base: large, Dir: dir}, request(t, doc))
		if _, err := os.Lstat(left); err == nil {
			t.Error("the file of a killed process was not removed")
		}
	})
}

// TestReadOnly: a read-only directory does not cause errors.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		for i := range 2 {
			get(t, &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{}`), Dir: dir}, request(t, number(i)))
		}
	}, func(t *testing.T, dir string) {
		o := always(headers("Cache-Control", "max-age=600"), `{"new":true}`)
		tr := &doccache.Transport{Base: o, Dir: dir}
		for range 2 {
			get(t, tr, request(t, number(0)))
			get(t, tr, request(t, number(7)))
		}
		if s := tr.Stats(); s.Failed == 0 || count(o) < 2 {
			t.Errorf("%+v, %d requests", s, count(o))
		}
	})
}

// TestLog: records contain no secrets.
func TestLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	tr := &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{}`), Dir: t.TempDir(), Logger: logger}
	for range 2 {
		get(t, tr, request(t, "https://user:s3cr3t@registry.example.com/v1?page=s3cr3t", "Authorization", "Bearer s3cr3t"))
	}
	redirected := request(t, "https://registry.example.com/s3cr3t/versions")
	redirected.Response = &http.Response{} // as http.Client sets it
	get(t, tr, redirected)
	text := log.String()
	if !strings.Contains(text, "answer=fetched") || !strings.Contains(text, "answer=hit") || strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
}

func number(i int) string { return fmt.Sprintf("https://registry.example.com/v1/%04d", i) }

// size returns the size of all entries.
func size(t *testing.T, dir string) (n int64) {
	t.Helper()
	for _, path := range entries(t, dir) {
		n += must.Get(os.Stat(path))(t).Size()
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
