//go:build unix

package fsx_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestSymlinkIsReplacedNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, victim := filepath.Join(dir, "link"), filepath.Join(dir, "victim")
	must.Do(t, os.WriteFile(victim, []byte("precious"), 0o600))
	must.Do(t, os.Symlink(victim, link))
	must.Do(t, fsx.WriteFile(link, []byte("new"), 0o644))
	wantContent(t, victim, "precious")
	wantContent(t, link, "new")
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link is now %v, %v; want a regular file", info, err)
	}
}

func TestPipeIsRefused(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, disktest.Mkfifo(pipe))
	if err := fsx.WriteFile(pipe, []byte("x"), 0o644); !errors.Is(err, fsx.ErrNotAFile) {
		t.Errorf("write: %v, want ErrNotAFile", err)
	}
	if _, err := fsx.OpenRegular(pipe); !errors.Is(err, fsx.ErrNotAFile) {
		t.Errorf("open: %v, want ErrNotAFile", err)
	}
}

// TestOpenRoot: OpenRoot and OpenRootIn open directories and links to them. They wait for no pipe and no link to one.
func TestOpenRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	here := must.Get(fsx.OpenRoot(dir))(t)
	defer here.Close()
	for _, name := range []string{"dir", "pipe", "file", "dir-link", "pipe-link"} {
		path, target := filepath.Join(dir, name), ""
		switch name {
		case "dir":
			must.Do(t, os.Mkdir(path, 0o755))
		case "pipe":
			must.Do(t, disktest.Mkfifo(path))
		case "file":
			must.Do(t, os.WriteFile(path, nil, 0o644))
		default:
			target = strings.TrimSuffix(name, "-link")
			must.Do(t, os.Symlink(target, path))
		}
		for job, open := range map[string]func() (*os.Root, error){
			"OpenRoot":   func() (*os.Root, error) { return fsx.OpenRoot(path) },
			"OpenRootIn": func() (*os.Root, error) { return fsx.OpenRootIn(here, name) },
		} {
			root, err := open()
			if err == nil {
				root.Close()
			}
			e, _ := errors.AsType[*fs.PathError](err)
			if isDir := name == "dir" || target == "dir"; isDir != (err == nil) || e != nil && (filepath.Base(e.Path) != name || e.Err != syscall.ENOTDIR) {
				t.Errorf("%s of %s: %v, want that only a directory is one", job, name, err)
			}
		}
	}
}

// TestLockIsNoLink: a planted link at the name of a lock does not create or lock a file outside of
// the directory.
func TestLockIsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, exists := range map[string]bool{"there": true, "missing": false} {
		target, link := filepath.Join(dir, name), filepath.Join(dir, name+".lock")
		if exists {
			must.Do(t, os.WriteFile(target, nil, 0o600))
		}
		must.Do(t, os.Symlink(target, link))
		if l, err := fsx.AcquireLock(t.Context(), link); err == nil {
			t.Errorf("%s: the lock of the target of a link was taken", name)
			l.Release()
		}
		if _, err := os.Lstat(target); (err == nil) != exists {
			t.Errorf("%s: the target: %v", name, err)
		}
	}
}

// TestPartDirWithoutLock: if the lock file cannot be opened, CreatePartDir fails, since another
// process could sweep the directory.
func TestPartDirWithoutLock(t *testing.T) {
	t.Parallel()
	// In another process, since the limit of open files affects all tests.
	disktest.Full(t, 1<<20, func(t *testing.T, dir string) {
		next := must.Get(os.Open(dir))(t)
		var limit syscall.Rlimit
		must.Do(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
		none := limit
		assign(&none.Cur, next.Fd())
		next.Close()
		must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
		d, err := fsx.CreatePartDir(t.Context(), filepath.Join(dir, "x"))
		must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%+v, %v; want EMFILE", d, err)
		}
		wantNames(t, dir)
	})
}

// assign hides that the type of the field depends on the system.
func assign[T int64 | uint64](to *T, n uintptr) { *to = T(n) }
