package mirrordir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// growing is a registry whose version 2.0.0 is much larger than 1.0.0.
func growing() *regtest.Registry {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: names(three)})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "2.0.0", Platforms: names(three), Size: 1 << 20})
	return reg
}

// wantOnly checks that the mirror has exactly version 1.0.0, no problems and no unfinished files.
func wantOnly(t *testing.T, m *mirrordir.Mirror, dir string) {
	t.Helper()
	list, err := m.ProviderVersions(t.Context(), alpha)
	if err != nil || len(list.List) != 1 || list.List[0].Version != v1 {
		t.Errorf("versions %+v, %v; want 1.0.0", list, err)
	}
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
		t.Errorf("problems: %v", report.Problems)
	}
	entries, err := os.ReadDir(filepath.Join(dir, ".tofureg"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

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
		pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
		if err != nil {
			t.Fatal(err)
		}
		body, err := m.Open(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
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
