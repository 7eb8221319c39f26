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

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// puts are the two implementations of Put.
var puts = map[string]func(d *fsx.PartDir, made, target string, may func(fs.FileInfo) error) (bool, error){
	"at once":  (*fsx.PartDir).Put,
	"in steps": (*fsx.PartDir).PutInSteps,
}

// put makes a directory with one file and puts it at target, in the way how.
func put(t *testing.T, how, target, content string, may func(fs.FileInfo) error) (replaced bool, err error) {
	t.Helper()
	d := must.Get(fsx.CreatePartDir(t.Context(), target))(t)
	defer d.Discard(t.Context())
	made := filepath.Join(d.Path(), "made")
	must.Do(t, os.Mkdir(made, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(made, "file"), []byte(content), 0o644))
	replaced, err = puts[how](d, "made", filepath.Base(target), may)
	if err != nil {
		wantContent(t, filepath.Join(made, "file"), content)
	}
	return replaced, err
}

// TestPut: the new directory replaces whatever is at the target, and nothing else is left.
func TestPut(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, "file")
	must.Do(t, os.WriteFile(precious, []byte("precious"), 0o600))
	for how := range puts {
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
			if replaced, err := put(t, how, target, "new", nil); err != nil || replaced != (name != "nothing") {
				t.Errorf("Put %s over %s returned %v, %v", how, name, replaced, err)
			}
			wantContent(t, filepath.Join(target, "file"), "new")
			wantNames(t, target, "file")
			wantNames(t, dir, "target")
		}
	}
	wantContent(t, precious, "precious")
}

// TestPutFails: after a failure the old target is in place. One that must not be replaced keeps its name
// and content, even if it appears at the last moment.
func TestPutFails(t *testing.T) {
	t.Parallel()
	precious := errors.New("precious")
	for how, f := range puts {
		dir := t.TempDir()
		target := filepath.Join(dir, "target")
		must.Get(put(t, how, target, "old", nil))(t)
		d := must.Get(fsx.CreatePartDir(t.Context(), filepath.Join(dir, "x")))(t)
		_, err := f(d, "none", "target", nil)
		d.Discard(t.Context())
		if e, ok := errors.AsType[*fs.PathError](err); !ok || e.Path != target || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Put %s of nothing returned %v, want fs.ErrNotExist about the target", how, err)
		}
		wantContent(t, filepath.Join(target, "file"), "old")
		if _, err := put(t, how, target, "new", func(fs.FileInfo) error { return precious }); !errors.Is(err, precious) {
			t.Errorf("Put %s over a directory that must stay returned %v, want the refusal", how, err)
		}
		wantContent(t, filepath.Join(target, "file"), "old")
		wantNames(t, dir, "target")
	}
}

// TestPutTogether: concurrent calls for one target succeed, and one directory remains.
func TestPutTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	var wg sync.WaitGroup
	for how := range puts {
		for range 4 {
			wg.Go(func() {
				for range 20 {
					if _, err := put(t, how, target, "new", nil); err != nil && runtime.GOOS != "windows" {
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
