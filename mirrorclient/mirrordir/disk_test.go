package mirrordir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// TestFullDisk checks that a failed Add on a full disk leaves the mirror as it was.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 1<<16, func(t *testing.T, dir string) {
		m, src := open(t, dir), client(growing())
		mustAdd(t, m, src, wants(three, v1), mirrordir.Options{})
		_, err := m.Add(t.Context(), src, wants(three, v2), mirrordir.Options{})
		if !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%v, want the system's reason", err)
		}
		wantOnly(t, m, dir)
	})
}

// TestReadOnlyDirectory checks that a mirror that cannot be written can be read.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		mustAdd(t, open(t, dir), client(growing()), wants(three, v1), mirrordir.Options{})
	}, func(t *testing.T, dir string) {
		m := open(t, dir)
		if _, err := m.Add(t.Context(), client(growing()), wants(three, v2), mirrordir.Options{}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v, want fs.ErrPermission", err)
		}
		wantOnly(t, m, dir)
		pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		body := must.Get(m.Open(t.Context(), pkg))(t)
		body.Close()
	})
}

// TestOccupied checks that Add does not replace a directory or a link in place of an archive or
// document, and does not write to the target of the link.
func TestOccupied(t *testing.T) {
	t.Parallel()
	outside := write(t, t.TempDir(), "precious", "precious")
	for name, plant := range map[string]func(path string) error{
		"directory": func(path string) error { return os.MkdirAll(filepath.Join(path, "kept"), 0o755) },
		"link":      func(path string) error { return disktest.Symlink(outside, path) },
		"link to nothing": func(path string) error {
			return disktest.Symlink(outside+".none", path)
		},
	} {
		for _, file := range []string{"2.0.0.json", "terraform-provider-alpha_2.0.0_linux_amd64.zip"} {
			t.Run(name+" at "+file, func(t *testing.T) {
				t.Parallel()
				m, dir := newMirror(t)
				src := client(growing())
				mustAdd(t, m, src, wants(three, v1), mirrordir.Options{})
				path := filepath.Join(dir, filepath.FromSlash(home), file)
				if err := plant(path); err != nil {
					t.Skipf("skipped: this cannot be made here: %v", err)
				}
				_, err := m.Add(t.Context(), src, wants(three, v2), mirrordir.Options{})
				if name == "directory" {
					if _, stat := os.Stat(filepath.Join(path, "kept")); err == nil || stat != nil {
						t.Errorf("the directory: %v; adding: %v", stat, err)
					}
				}
				if data, err := os.ReadFile(outside); err != nil || string(data) != "precious" {
					t.Errorf("what the link points to has become %q, %v", data, err)
				}
				if _, err := os.Lstat(outside + ".none"); err == nil {
					t.Error("what the link points to was made")
				}
			})
		}
	}
}

// TestOtherFileSystem checks that a mirror on another file system works, since files are staged in
// the mirror.
func TestOtherFileSystem(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // no file system in memory
	}
	_, link := disktest.Elsewhere(t)
	m := open(t, link)
	mustAdd(t, m, client(growing()), wants(three, v1), mirrordir.Options{})
	wantOnly(t, m, link)
}
