package module_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
)

// TestRelativeDir checks that a relative directory works, although git runs in another
// directory.
func TestRelativeDir(t *testing.T) {
	o := newOrigin(t)
	t.Chdir(t.TempDir())
	dir := filepath.Join("modules", "x")
	opts := allowed()
	request := module.Request{Location: at(t, o.location("?ref=v1.0.0")), Dir: dir}
	for _, wanted := range []bool{false, true} {
		if wanted {
			opts.Replace, request.H1 = true, h1(t, example)
			write(t, dir, files{"main.tf": "changed\n"})
		}
		report := must.Get(module.Download(t.Context(), nil, request, opts))(t)
		wantTree(t, dir, example)
		if report.Dir != dir || report.Reused {
			t.Errorf("%+v, want the directory %s", report, dir)
		}
	}
	report, err := module.Download(t.Context(), nil, request, opts)
	if err != nil || !report.Reused {
		t.Errorf("second download: %+v, %v; want Reused", report, err)
	}
	_, err = module.Download(t.Context(), nil, module.Request{Location: at(t, o.location("")), Dir: dir}, allowed())
	if !errors.Is(err, module.ErrOccupied) || !strings.Contains(err.Error(), ": "+dir+": ") {
		t.Errorf("%v, want the directory %s", err, dir)
	}
}

// TestRelativeGit checks that Git.Path can be relative.
func TestRelativeGit(t *testing.T) {
	o := newOrigin(t)
	script := program(t, "#!/bin/sh\nexec git \"$@\"\n")
	t.Chdir(filepath.Dir(filepath.Dir(script)))
	opts := allowed()
	opts.Git.Path = "." + string(os.PathSeparator) + filepath.Join(filepath.Base(filepath.Dir(script)), filepath.Base(script))
	wantPackage(t, nil, o.location("?ref=v1.0.0"), opts, example)
}

// TestRelativeDirsClash checks that a relative and an absolute path of one directory overlap.
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

// TestRelativeAboveLink checks that ".." is the parent of the working directory, even if its
// name is a symbolic link in another directory.
func TestRelativeAboveLink(t *testing.T) {
	home, links := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, "here"), files{"x": ""})
	write(t, filepath.Join(links, "m"), files{"main.tf": "another module\n"})
	link := filepath.Join(links, "link")
	if err := disktest.Symlink(filepath.Join(home, "here"), link); err != nil {
		t.Skipf("skipped: no symbolic links: %v", err)
	}
	o := newOrigin(t)
	t.Chdir(link)
	opts := allowed()
	opts.Replace = true
	if runtime.GOOS != "windows" {
		opts.Git.Path = filepath.Join("..", "git")
		must.Do(t, os.Rename(program(t, "#!/bin/sh\nexec git \"$@\"\n"), opts.Git.Path))
	}
	report := must.Get(module.Download(t.Context(), nil, module.Request{Location: at(t, o.location("?ref=v1.0.0")), Dir: filepath.Join("..", "m")}, opts))(t)
	for dir, want := range map[string]string{report.ModuleDir(): example["main.tf"], filepath.Join(links, "m"): "another module\n"} {
		if got := tree(t, dir); got["main.tf"] != want {
			t.Errorf("%s: files %v, want main.tf with %q", dir, got, want)
		}
	}
}
