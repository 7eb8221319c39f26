package module_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/module"
)

// TestRelativeDir: a directory may be named from the working directory, whichever
// programs run elsewhere.
func TestRelativeDir(t *testing.T) {
	o := newOrigin(t)
	t.Chdir(t.TempDir())
	dir := filepath.Join("modules", "x")
	opts := allowed()
	for _, wanted := range []bool{false, true} {
		if wanted {
			opts.Replace, opts.H1 = true, h1(t, example)
			write(t, dir, files{"main.tf": "changed\n"})
		}
		report, err := module.DownloadLocation(t.Context(), nil, o.location("?ref=v1.0.0"), dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		wantTree(t, dir, example)
		if report.Dir != dir || report.Reused {
			t.Errorf("%+v, want the directory %s", report, dir)
		}
	}
	report, err := module.DownloadLocation(t.Context(), nil, o.location("?ref=v1.0.0"), dir, opts)
	if err != nil || !report.Reused {
		t.Errorf("again: %+v, %v", report, err)
	}
	_, err = module.DownloadLocation(t.Context(), nil, o.location(""), dir, allowed())
	if !errors.Is(err, module.ErrOccupied) || !strings.Contains(err.Error(), ": "+dir+": ") {
		t.Errorf("%v, want the directory %s", err, dir)
	}
}

// TestRelativeGit: so may the program.
func TestRelativeGit(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // the program of the test is a script
	}
	o := newOrigin(t)
	script := program(t, "#!/bin/sh\nexec git \"$@\"\n")
	t.Chdir(filepath.Dir(filepath.Dir(script)))
	opts := allowed()
	opts.Git.Path = "." + string(os.PathSeparator) + filepath.Join(filepath.Base(filepath.Dir(script)), filepath.Base(script))
	dir := target(t)
	if _, err := module.DownloadLocation(t.Context(), nil, o.location("?ref=v1.0.0"), dir, opts); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, example)
}

// TestRelativeDirsClash: two spellings of a directory are one.
func TestRelativeDirsClash(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	src, requests := many(t, dir, 2)
	requests[1].Dir = filepath.Base(requests[0].Dir)
	results, _ := module.DownloadAll(t.Context(), src, requests, module.Options{Replace: true})
	if results[0].Err != nil || !errors.Is(results[1].Err, module.ErrOccupied) {
		t.Errorf("%v; %v, want ErrOccupied", results[0].Err, results[1].Err)
	}
}

// TestRelativeAboveLink: what is above a working directory that is known by the name of a
// link is above the directory, for all that the system is asked for, and not above the link.
func TestRelativeAboveLink(t *testing.T) {
	home, links := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, "here"), files{"x": ""})
	write(t, filepath.Join(links, "m"), files{"main.tf": "somebody else's\n"})
	link := filepath.Join(links, "link")
	if err := os.Symlink(filepath.Join(home, "here"), link); err != nil {
		t.Skipf("skipped: no symbolic links: %v", err)
	}
	o := newOrigin(t)
	t.Chdir(link)
	opts := allowed()
	opts.Replace = true
	if runtime.GOOS != "windows" {
		opts.Git.Path = filepath.Join("..", "git")
		if err := os.Rename(program(t, "#!/bin/sh\nexec git \"$@\"\n"), opts.Git.Path); err != nil {
			t.Fatal(err)
		}
	}
	report, err := module.DownloadLocation(t.Context(), nil, o.location("?ref=v1.0.0"), filepath.Join("..", "m"), opts)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{report.ModuleDir(): example["main.tf"], filepath.Join(links, "m"): "somebody else's\n"} {
		if got := tree(t, dir); got["main.tf"] != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}
