//go:build unix

package module_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"

	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestLocalPipe checks that a pipe in place of an archive does not block.
func TestLocalPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "vpc.zip")
	must.Do(t, disktest.Mkfifo(pipe))
	wantRefused(t, nil, "file://"+pipe, module.Options{AllowLocal: true}, failure.ErrArchive)
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
	if !errors.Is(err, failure.ErrNotFound) || !strings.Contains(err.Error(), " /c:/vpc") {
		t.Errorf("%v, want ErrNotFound for a path from the root", err)
	}
}

// TestLocalAroundLink checks that a link cannot hide that the target is in the directory to
// copy.
func TestLocalAroundLink(t *testing.T) {
	t.Parallel()
	home, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	write(t, home, files{"main.tf": "x\n", "deep/in/x": ""})
	must.Do(t, os.Symlink(filepath.Join(home, "deep", "in"), link))
	dir := filepath.Join(link, "m")
	report, err := module.Download(t.Context(), nil, module.Request{Location: at(t, home), Dir: dir}, module.Options{AllowLocal: true})
	if err == nil || !strings.Contains(err.Error(), "is in the directory to copy") {
		t.Errorf("report %+v, %v; want an error", report, err)
	}
}

// TestReuseSwappedForPipe replaces a file of the package by a pipe shortly before it is
// hashed.
func TestReuseSwappedForPipe(t *testing.T) {
	t.Parallel()
	o, pin := module.Options{Replace: true}, h1(t, files{"path": "content"})
	loc := at(t, archiveURL+".zip")
	reused := 0
	disktest.Swapped(t, "content", func(path string) error {
		report, err := module.Download(t.Context(), serve(nil), module.Request{Location: loc, Dir: filepath.Dir(path), H1: pin}, o)
		if err == nil && report.Reused {
			reused++
		}
		return err
	})
	if reused == 0 {
		t.Error("the package was never reused")
	}
}

// TestKeepLinks: links that stay in their package are kept. Each element of a target is resolved before the next one.
func TestKeepLinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		links map[string]string
		out   string // names of the links that lead out
	}{
		"beside":              {links: map[string]string{"b.tf": "a.tf", "d/c.tf": "../a.tf"}},
		"a directory":         {links: map[string]string{"l": "deep/er", "deep/m": "../l"}},
		"missing":             {links: map[string]string{"l": "x/y"}},
		"above":               {links: map[string]string{"l": ".."}, out: "l"},
		"above and back":      {links: map[string]string{"d/l": "../../x/a.tf"}, out: "d/l"},
		"absolute":            {links: map[string]string{"l": "/etc"}, out: "l"},
		"real parent":         {links: map[string]string{"l": "deep/er", "m": "l/../x.tf"}},
		"real parent outside": {links: map[string]string{"deep/er/l": "../..", "m": "deep/er/l/../x"}, out: "m"},
		"lexical parent":      {links: map[string]string{"deep/l": "er", "deep/er/m": "../l/../../a.tf"}},
		"missing and above":   {links: map[string]string{"l": "x/../../y"}, out: "l"},
		"by another":          {links: map[string]string{"l": "/", "m": "l/etc"}, out: "l m"},
		"a loop":              {links: map[string]string{"l": "m", "m": "l"}, out: "l m"},
		"itself":              {links: map[string]string{"l": "l/x"}, out: "l"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := t.TempDir()
			for _, dir := range []string{"d", "deep/er"} {
				must.Do(t, os.MkdirAll(filepath.Join(source, dir), 0o755))
			}
			for _, file := range []string{"a.tf", "d/x", "deep/er/x"} {
				must.Do(t, os.WriteFile(filepath.Join(source, file), nil, 0o644))
			}
			for link, target := range c.links {
				must.Do(t, os.Symlink(target, filepath.Join(source, link)))
			}
			loc := &module.Location{Kind: module.KindLocal, URL: "file://" + source}
			dir := filepath.Join(t.TempDir(), "m")
			_, err := module.Download(t.Context(), nil, module.Request{Location: loc, Dir: dir}, module.Options{AllowLocal: true, KeepLinks: true})
			if (c.out != "") != errors.Is(err, module.ErrLink) {
				t.Errorf("Download without SkipLinks: %v, want ErrLink for %q", err, c.out)
			}
			o := module.Options{AllowLocal: true, KeepLinks: true, SkipLinks: true, Replace: true}
			report, err := module.Download(t.Context(), nil, module.Request{Location: loc, Dir: dir}, o)
			if err != nil || !slices.Equal(report.Skipped, strings.Fields(c.out)) {
				t.Fatalf("Download: %v, %v; want that %q is left out", report, err, c.out)
			}
			left := 0
			for link, target := range c.links {
				got, err := os.Readlink(filepath.Join(dir, link))
				if out := slices.Contains(report.Skipped, link); out == (err == nil) || !out && got != target {
					t.Errorf("link %s leads to %q, %v; want %q unless it is left out", link, got, err, target)
				}
				if err == nil {
					left++
				}
			}
			if want := map[bool]string{true: scheme.L1, false: checksum.SchemeH1}[left > 0]; report.H1.Scheme() != want {
				t.Errorf("hash %s, want one of scheme %s", report.H1, want)
			}
			again, err := module.Download(t.Context(), nil, module.Request{Location: loc, Dir: dir, H1: report.H1}, o)
			if err != nil || !again.Reused {
				t.Errorf("Download with the hash: %v, %v; want that the package is used again", again, err)
			}
		})
	}
}

// TestGitSSH fetches over a program in place of ssh, and checks which host git gives to it.
func TestGitSSH(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	repository := filepath.Join(o.dir, ".git")
	for text, want := range map[string]string{
		"git::github:" + repository:                            "github",
		"git::Git.Example.com:" + repository:                   "git.example.com",
		"git@github:" + repository:                             "git@github",
		"git::ssh://alice%40home@example.com" + repository:     "alice@home@example.com",
		"git::ssh://alice@home@example.com" + repository:       "alice@home@example.com",
		"git::ssh://DOM%5Calice@example.com" + repository:      `DOM\alice@example.com`,
		"git::SSH://git@example.com" + repository:              "git@example.com",
		"git::ssh://git@example.com" + repository + "////":     "git@example.com",
		"git::github:" + repository + "//modules/a?ref=v1.0.0": "github",
	} {
		dir := t.TempDir()
		log := filepath.Join(dir, "log")
		write(t, dir, files{"ssh": "#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\nprintf %s \"$1\" >'" + log + "'\nexec sh -c \"$2\"\n"})
		must.Do(t, os.Chmod(filepath.Join(dir, "ssh"), 0o755))
		opts := allowed()
		opts.Git.Env = append(opts.Git.Env, "GIT_SSH="+filepath.Join(dir, "ssh"), "GIT_SSH_VARIANT=ssh")
		if _, _, err := get(t, nil, text, opts); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if host := strings.TrimSpace(string(must.Get(os.ReadFile(log))(t))); host != want {
			t.Errorf("%s: git gives the host %q to ssh, want %q", text, host, want)
		}
	}
}
