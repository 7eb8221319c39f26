package fsx_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/fsx"
)

// puts are the two implementations of Put.
var puts = map[string]func(d *fsx.PartDir, made, target string) error{
	"at once":          always((*fsx.PartDir).Put),
	"in steps":         always((*fsx.PartDir).PutInSteps),
	"at once in root":  inRoot(fsx.PutIn),
	"in steps in root": inRoot(fsx.PutInInSteps),
}

type putIf = func(d *fsx.PartDir, made, target string, may func(fs.FileInfo) error) error

// always is a put that replaces anything.
func always(put putIf) func(*fsx.PartDir, string, string) error {
	return func(d *fsx.PartDir, made, target string) error { return put(d, made, target, nil) }
}

// inRoot is a put with names in the directory of the target.
func inRoot(put func(root *os.Root, made, target, private string) (bool, error)) func(*fsx.PartDir, string, string) error {
	return func(d *fsx.PartDir, made, target string) error {
		root, err := os.OpenRoot(filepath.Dir(target))
		if err != nil {
			return err
		}
		defer root.Close()
		private := filepath.Base(d.Path())
		_, err = put(root, filepath.Join(private, filepath.Base(made)), filepath.Base(target), private)
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			e.Path = root.Name() + string(os.PathSeparator) + e.Path
		}
		return err
	}
}

// put makes a directory with one file and puts it at target.
func put(t *testing.T, how func(*fsx.PartDir, string, string) error, target, content string) error {
	t.Helper()
	d, err := fsx.CreatePartDir(filepath.Dir(target))
	must(t, err)
	defer d.Discard(t.Context())
	made := filepath.Join(d.Path(), "made")
	must(t, os.Mkdir(made, 0o755))
	must(t, os.WriteFile(filepath.Join(made, "file"), []byte(content), 0o644))
	return how(d, made, target)
}

// TestPut: the new directory replaces whatever is at the target, and nothing else is left.
func TestPut(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, "file")
	must(t, os.WriteFile(precious, []byte("precious"), 0o600))
	for how, f := range puts {
		for name, prepare := range map[string]func(target string) error{
			"nothing":         func(string) error { return nil },
			"empty directory": func(target string) error { return os.Mkdir(target, 0o755) },
			"directory":       func(target string) error { return os.MkdirAll(filepath.Join(target, "a", "b"), 0o755) },
			"file":            func(target string) error { return os.WriteFile(target, nil, 0o600) },
			"link":            func(target string) error { return disktest.Symlink(elsewhere, target) },
			"dangling link":   func(target string) error { return disktest.Symlink("none", target) },
		} {
			dir := t.TempDir()
			target := filepath.Join(dir, "target")
			if err := prepare(target); err != nil && strings.Contains(name, "link") {
				t.Logf("%s: %v", name, err) // on Windows
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			if err := put(t, f, target, "new"); err != nil {
				t.Errorf("%s, %s: %v", how, name, err)
			}
			wantContent(t, filepath.Join(target, "file"), "new")
			wantNames(t, target, "file")
			wantNames(t, dir, "target")
		}
	}
	wantContent(t, precious, "precious")
}

// TestPutInTells: PutIn reports whether there was an old target.
func TestPutInTells(t *testing.T) {
	t.Parallel()
	for how, put := range map[string]func(root *os.Root, made, target, private string) (bool, error){
		"at once": fsx.PutIn, "in steps": fsx.PutInInSteps,
	} {
		root := openRoot(t)
		must(t, root.Mkdir("private", 0o755))
		for _, there := range []bool{false, true} {
			must(t, root.RemoveAll("private/made"))
			must(t, root.Mkdir("private/made", 0o755))
			if replaced, err := put(root, "private/made", "target", "private"); replaced != there || err != nil {
				t.Errorf("%s: %v, %v; want %v", how, replaced, err, there)
			}
		}
	}
}

// TestPutFails: after a failure the old target is in place.
func TestPutFails(t *testing.T) {
	t.Parallel()
	for how, f := range puts {
		dir := t.TempDir()
		target := filepath.Join(dir, "target")
		must(t, put(t, f, target, "old"))
		d, err := fsx.CreatePartDir(dir)
		must(t, err)
		err = f(d, filepath.Join(d.Path(), "none"), target)
		d.Discard(t.Context())
		if e, ok := errors.AsType[*fs.PathError](err); !ok || e.Path != target || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want fs.ErrNotExist about the target", how, err)
		}
		wantContent(t, filepath.Join(target, "file"), "old")
		wantNames(t, dir, "target")
	}
}

// TestPutRefuses: an old target that must not be replaced keeps its name and content, even if it
// appears at the last moment.
func TestPutRefuses(t *testing.T) {
	t.Parallel()
	precious := errors.New("precious")
	for how, f := range map[string]putIf{"at once": (*fsx.PartDir).Put, "in steps": (*fsx.PartDir).PutInSteps} {
		dir := t.TempDir()
		target := filepath.Join(dir, "target")
		must(t, os.WriteFile(target, []byte("precious"), 0o600))
		refuse := func(d *fsx.PartDir, made, target string) error {
			err := f(d, made, target, func(info fs.FileInfo) error {
				if info.Mode().IsRegular() {
					return precious
				}
				return nil
			})
			wantContent(t, filepath.Join(made, "file"), "new")
			return err
		}
		if err := put(t, refuse, target, "new"); !errors.Is(err, precious) {
			t.Errorf("Put %s over a file that must stay: %v, want the refusal", how, err)
		}
		wantContent(t, target, "precious")
		wantNames(t, dir, "target")
	}
}

// TestPutTogether: concurrent calls for one target succeed, and one directory remains.
func TestPutTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	var wg sync.WaitGroup
	for _, f := range puts {
		for range 4 {
			wg.Go(func() {
				for range 20 {
					if err := put(t, f, target, "new"); err != nil && runtime.GOOS != "windows" {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	wantContent(t, filepath.Join(target, "file"), "new")
	wantNames(t, dir, "target")
}

// TestReplacesReadOnlyTree: directories without write permission are removed.
func TestReplacesReadOnlyTree(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(*testing.T, string) {}, func(t *testing.T, _ string) {
		dir, err := os.MkdirTemp("", "tofureg")
		must(t, err)
		defer os.RemoveAll(dir)
		target := filepath.Join(dir, "target")
		must(t, os.MkdirAll(filepath.Join(target, "a", "b"), 0o755))
		for _, name := range []string{"a/b", "a"} {
			must(t, os.Chmod(filepath.Join(target, filepath.FromSlash(name)), 0o500))
		}
		if err := put(t, always((*fsx.PartDir).Put), target, "new"); err != nil {
			t.Error(err)
		}
		wantNames(t, dir, "target")
		wantContent(t, filepath.Join(target, "file"), "new")
	})
}
