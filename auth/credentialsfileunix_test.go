//go:build unix

package auth_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestCredentialsFileMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0, 0o644, 0o600, 0o400} {
		file := auth.CredentialsFile{Path: filepath.Join(t.TempDir(), "new", "file")}
		if mode != 0 {
			file = credentials(t, "{}")
			must.Do(t, os.Chmod(file.Path, mode))
		}
		save(t, file, hostA, secret)
		if info, err := os.Stat(file.Path); err != nil || info.Mode() != 0o600 {
			t.Errorf("after mode %v: %v, %v; want 0600", mode, info.Mode(), err)
		}
		if info, err := os.Stat(filepath.Dir(file.Path)); mode == 0 && (err != nil || info.Mode().Perm() != 0o700) {
			t.Errorf("the directory that was made: %v, %v; want 0700", info.Mode(), err)
		}
	}
}

func TestCredentialsFileLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		links map[string]string // name to content
		file  string            // where the tokens end up
	}{
		{"absolute", map[string]string{"link": "$DIR/real/file"}, "real/file"},
		{"relative", map[string]string{"link": "real/file"}, "real/file"},
		{"chain", map[string]string{"link": "two", "two": "./real/three", "real/three": "../real/file"}, "real/file"},
		{"directory", map[string]string{"link": "d/file", "d": "real"}, "real/file"},
		// "d/.." is "real", although it does not look like it.
		{"up from a linked directory", map[string]string{"link": "d/../file", "d": "real/sub"}, "real/file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must.Do(t, os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755))
			old := `{"credentials":{"b.test:8443":{"token":"b"}}}`
			must.Do(t, os.WriteFile(filepath.Join(dir, "real", "file"), []byte(old), 0o600))
			for name, to := range tt.links {
				must.Do(t, os.Symlink(strings.ReplaceAll(to, "$DIR", dir), filepath.Join(dir, name)))
			}
			file := auth.CredentialsFile{Path: filepath.Join(dir, "link")}
			save(t, file, hostA, secret)
			want(t, file, hostA, secret)
			want(t, auth.CredentialsFile{Path: filepath.Join(dir, tt.file)}, hostA, secret)
			want(t, file, hostB, "b")
			for name := range tt.links {
				if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode().Type() != fs.ModeSymlink {
					t.Errorf("%s was replaced: %v, %v; want a link", name, info, err)
				}
			}
			must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if strings.HasPrefix(d.Name(), ".") {
					t.Errorf("extra file %s", path)
				}
				return err
			}))
		})
	}
}

func TestCredentialsFileBadLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, to := range map[string]string{"loop": "pool", "pool": "loop", "lost": "none/file"} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	if err := (auth.CredentialsFile{Path: filepath.Join(dir, "loop")}).Save(t.Context(), hostA, auth.MustNewToken("x")); err == nil {
		t.Error("Save through a loop of links succeeds")
	}
	lost := auth.CredentialsFile{Path: filepath.Join(dir, "lost")}
	want(t, lost, hostA, "")
	if err := lost.Save(t.Context(), hostA, auth.MustNewToken("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link into a missing directory: %v", err)
	}
}

// TestCredentialsFileUnreadable checks that an unreadable file is an error, unlike a missing
// file. Reading a pipe would block.
func TestCredentialsFileUnreadable(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, disktest.Mkfifo(pipe))
	for path, want := range map[string]error{pipe: fsx.ErrNotAFile, pipe + strings.Repeat("x", 300): syscall.ENAMETOOLONG} {
		file := auth.CredentialsFile{Path: path}
		_, netrcErr := auth.LoadNetrc(path)
		for _, err := range append(attempts(t, file), netrcErr) {
			if !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
	}
}

// TestSwappedForPipe replaces a file by a pipe while it is opened.
func TestSwappedForPipe(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(path string) error{
		"credentials": func(path string) error {
			_, err := auth.CredentialsFile{Path: path}.Token(t.Context(), hostA)
			return err
		},
		"netrc": func(path string) error { _, err := auth.LoadNetrc(path); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, err := range disktest.Swapped(t, "", read) {
				if !errors.Is(err, fsx.ErrNotAFile) {
					t.Errorf("%v, want ErrNotAFile", err)
				}
			}
		})
	}
}
