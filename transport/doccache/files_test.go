package doccache_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/tofureg/tofureg/transport/doccache"
)

// kept fills a directory with one entry and returns its path.
func kept(t *testing.T, dir string, list ...string) string {
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

// TestDamaged: a file that is not as it was written, in whatever bit, is no answer; a new
// one takes its place.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := kept(t, dir)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{"empty": {}, "longer": append(good[:len(good):len(good)], 0)}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1 << (i % 8)
		damaged["byte "+string(rune('0'+i%10))+" of "+time.Duration(i).String()] = bad
		damaged["the first "+time.Duration(i).String()] = good[:i]
	}
	for name, bad := range damaged {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		o := always(headers("Cache-Control", "max-age=600"), `{"new":true}`)
		tr := &doccache.Transport{Base: o, Dir: dir}
		t.Log(name)
		want(t, tr, doc, `{"new":true}`, 1)
		want(t, tr, doc, `{"new":true}`, 1)
		if t.Failed() {
			return
		}
	}
	clean(t, dir)
}

// TestPlanted: what is in the place of a file and is none is never followed, waited for or
// filled.
func TestPlanted(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "precious")
	copyOf := func(t *testing.T, path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "copy")
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return to
	}
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(t *testing.T, path string) error{
		"link to a file":         func(_ *testing.T, path string) error { return os.Symlink(outside, path) },
		"link to a good entry":   func(t *testing.T, path string) error { return os.Symlink(copyOf(t, path+".was"), path) },
		"link to nowhere":        func(_ *testing.T, path string) error { return os.Symlink(outside+".none", path) },
		"link to itself":         func(_ *testing.T, path string) error { return os.Symlink(path, path) },
		"pipe":                   func(_ *testing.T, path string) error { return mkfifo(path) },
		"directory":              func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) },
		"directory that is full": func(_ *testing.T, path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) },
		"huge file":              func(_ *testing.T, path string) error { return sparse(path, 1<<40) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := kept(t, dir)
			if err := os.Rename(path, path+".was"); err != nil {
				t.Fatal(err)
			}
			if err := plant(t, path); err != nil {
				t.Skipf("skipped: this cannot be made here: %v", err)
			}
			o := always(headers("Cache-Control", "max-age=600"), `{"new":true}`)
			tr := &doccache.Transport{Base: o, Dir: dir}
			want(t, tr, doc, `{"new":true}`, 1)
			get(t, tr, request(t, doc))
			if data, err := os.ReadFile(outside); err != nil || string(data) != "precious" {
				t.Errorf("what a link points to has become %q, %v", data, err)
			}
			if _, err := os.Lstat(outside + ".none"); err == nil {
				t.Error("what a link points to was made")
			}
		})
	}
}

// sparse makes a file that takes no room.
func sparse(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(size)
}

// TestNotPrivate: a directory that other users can enter is not used, and what is in it is
// no answer.
func TestNotPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: directories have no mode on windows")
	}
	for _, mode := range []os.FileMode{0o701, 0o710, 0o740, 0o722, 0o755, 0o777} {
		dir := t.TempDir()
		kept(t, dir)
		if err := os.Chmod(filepath.Join(dir, doccache.Version), mode); err != nil {
			t.Fatal(err)
		}
		tr := &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{"new":true}`), Dir: dir}
		want(t, tr, doc, `{"new":true}`, 1)
		want(t, tr, doc, `{"new":true}`, 2)
		if s := tr.Stats(); s.Failed != 2 {
			t.Errorf("mode %v: %+v, want two failures", mode, s)
		}
	}
}

// TestLinkedDirectory: in a Dir in which other users can write, a link in the place of the
// private directory does not lead out.
func TestLinkedDirectory(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, doccache.Version)); err != nil {
		t.Skipf("skipped: links cannot be made here: %v", err)
	}
	tr := &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{}`), Dir: dir}
	want(t, tr, doc, `{}`, 1)
	if names, err := os.ReadDir(other); err != nil || len(names) > 0 || tr.Stats().Failed != 1 {
		t.Errorf("the directory of the link has %v, %v; %+v", names, err, tr.Stats())
	}
}

// TestDirectoryMode: a directory that is made here is private.
func TestDirectoryMode(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	kept(t, dir)
	for _, path := range []string{filepath.Join(dir, doccache.Version), dir, filepath.Dir(dir)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

// TestDirectoryRemoved: who empties the cache need not stop the programs that use it.
func TestDirectoryRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	o := always(headers("Cache-Control", "max-age=600"), `{}`)
	tr := &doccache.Transport{Base: o, Dir: dir}
	want(t, tr, doc, `{}`, 1)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	want(t, tr, doc, `{}`, 2)
	want(t, tr, doc, `{}`, 2)
}
