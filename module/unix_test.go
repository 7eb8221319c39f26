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
	if err := disktest.Mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
	dir := target(t)
	_, err := module.DownloadLocation(t.Context(), nil, at(t, "file://"+pipe), dir, module.Options{AllowLocal: true})
	if !errors.Is(err, module.ErrArchive) {
		t.Errorf("%v, want ErrArchive", err)
	}
	absent(t, dir)
}

// TestLocalSwappedForPipe replaces a file by a pipe shortly before it is copied.
func TestLocalSwappedForPipe(t *testing.T) {
	t.Parallel()
	disktest.Swapped(t, "content", func(path string) error {
		dir := target(t)
		_, err := module.DownloadLocation(t.Context(), nil, at(t, filepath.Dir(path)), dir, module.Options{AllowLocal: true})
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
	_, err := module.DownloadLocation(t.Context(), nil, at(t, "file:///c:/vpc"), target(t), module.Options{AllowLocal: true})
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
	if err := os.Symlink(filepath.Join(home, "deep", "in"), link); err != nil {
		t.Fatal(err)
	}
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
