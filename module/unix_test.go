//go:build unix

package module_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/module"
)

// TestLocalPipe checks that a pipe in place of an archive does not block.
func TestLocalPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "vpc.zip")
	must(t, disktest.Mkfifo(pipe))
	dir, _, err := get(t, nil, "file://"+pipe, module.Options{AllowLocal: true})
	if !errors.Is(err, module.ErrArchive) {
		t.Errorf("%v, want ErrArchive", err)
	}
	absent(t, dir)
}

// TestLocalSwappedForPipe replaces a file by a pipe shortly before it is copied.
func TestLocalSwappedForPipe(t *testing.T) {
	t.Parallel()
	disktest.Swapped(t, "content", func(path string) error {
		dir, _, err := get(t, nil, filepath.Dir(path), module.Options{AllowLocal: true})
		if err == nil {
			wantTree(t, dir, files{"path": "content"})
		}
		return err
	})
}

// TestLocalPathWithColon checks that "c:" is a directory on this system.
func TestLocalPathWithColon(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, filepath.Join("c:", "vpc"), example)
	_, _, err := get(t, nil, "file:///c:/vpc", module.Options{AllowLocal: true})
	if !errors.Is(err, module.ErrNotFound) || !strings.Contains(err.Error(), " /c:/vpc") {
		t.Errorf("%v, want ErrNotFound for a path from the root", err)
	}
}

// TestLocalAroundLink checks that a link cannot hide that the target is in the directory to
// copy.
func TestLocalAroundLink(t *testing.T) {
	t.Parallel()
	home, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	write(t, home, files{"main.tf": "x\n", "deep/in/x": ""})
	must(t, os.Symlink(filepath.Join(home, "deep", "in"), link))
	dir := filepath.Join(link, "m")
	report, err := module.DownloadLocation(t.Context(), nil, at(t, home), dir, module.Options{AllowLocal: true})
	if err == nil || !strings.Contains(err.Error(), "is in the directory to copy") {
		t.Errorf("report %+v, %v; want an error", report, err)
	}
}

// TestReuseSwappedForPipe replaces a file of the package by a pipe shortly before it is
// hashed.
func TestReuseSwappedForPipe(t *testing.T) {
	t.Parallel()
	o := module.Options{Replace: true, H1: h1(t, files{"path": "content"})}
	loc := at(t, archiveURL+".zip")
	reused := 0
	disktest.Swapped(t, "content", func(path string) error {
		report, err := module.DownloadLocation(t.Context(), serve(nil), loc, filepath.Dir(path), o)
		if err == nil && report.Reused {
			reused++
		}
		return err
	})
	if reused == 0 {
		t.Error("the package was never reused")
	}
}
