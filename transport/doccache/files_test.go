package doccache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

// addEntry adds an entry to a directory and returns its path.
func addEntry(t *testing.T, dir string, list ...string) string {
	t.Helper()
	before := map[string]bool{}
	for _, path := range entries(t, dir) {
		before[path] = true
	}
	get(t, &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{}`), Dir: dir}, request(t, doc, list...))
	for _, path := range entries(t, dir) {
		if !before[path] {
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
		data := must.Get(os.ReadFile(path))(t)
		to := filepath.Join(t.TempDir(), "copy")
		must.Do(t, os.WriteFile(to, data, 0o600))
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
	remove := func() {
		must.Do(t, os.RemoveAll(dir))
	}
	remove()
	want(t, tr, doc, `{}`, 2)
	want(t, tr, doc, `{}`, 2)

	remove()
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
