//go:build unix

package workdir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// TestNamedPipe: a pipe in place of a file is refused without waiting for it.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"main.tf", modulesJSON} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"x.tf": `module "m" { source = "./m" }`, "m/m.tf": ""})
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), syscall.Mkfifo(path, 0o600)))
		if err := prepare(t.Context(), w.dir(t, dir, false)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a pipe named %s: %v, want that it is not a regular file", name, err)
		}
	}
}

// TestNoDirectory: what is in place of a directory is refused without waiting for it, and Read goes on without tests.
func TestNoDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"tests", "m", ".terraform", modulesPath, providersPath} {
		for kind, make := range map[string]func(path string) error{
			"file": func(path string) error { return os.WriteFile(path, nil, 0o644) },
			"pipe": mkfifo,
			"link": func(path string) error {
				return errors.Join(mkfifo(path+".pipe"), os.Symlink(filepath.Base(path)+".pipe", path))
			},
			"device": func(path string) error { return os.Symlink(os.DevNull, path) },
		} {
			dir := t.TempDir()
			write(t, dir, map[string]string{"x.tf": "module \"m\" { source = \"./m\" }\nterraform {\n  required_providers {\n    p = { source = \"" + w.host + "/acme/none\" }\n  }\n}\n"})
			if name != "m" {
				write(t, dir, map[string]string{"m/m.tf": ""})
			}
			path := filepath.Join(dir, filepath.FromSlash(name))
			must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), make(path)))
			for job, do := range map[string]func() error{
				"Plan":    func() error { _, err := w.dir(t, dir, false).Plan(t.Context()); return err },
				"Prepare": func() error { return prepare(t.Context(), w.dir(t, dir, false)) },
			} {
				err := do()
				if text := fmt.Sprint(err); err == nil || strings.Contains(text, "readdirent") || name == "tests" && !strings.Contains(text, "tests: must be a directory with tests") {
					t.Errorf("%s with a %s named %s: %v, want that it is no directory", job, kind, name, err)
				}
			}
			if m, err := (&Dir{Path: dir}).Read(t.Context()); m == nil || len(m.Calls) != 1 || len(m.Providers) != 1 || (err != nil) != (name == "tests") {
				t.Errorf("Read with a %s named %s: %+v, %v; want the configuration, and a problem with tests only", kind, name, m, err)
			}
		}
	}
}

// TestTextOfErrors: the text of an error is one printable line, whatever a file is called.
func TestTextOfErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.Symlink("nowhere", filepath.Join(dir, "a\nb.tf")))
	_, err := (&Dir{Path: dir}).Read(t.Context())
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) != 1 || strings.ContainsFunc(problems[0].Text+err.Error(), unicode.IsControl) {
		t.Errorf("Read of a file with a line break in its name: %q, want one problem with one line of text", err)
	}
}

// TestUmask: the data directory, the manifest and packages of git have the modes that both clients give them.
func TestUmask(t *testing.T) { // not parallel, because the process has one umask
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	dir := t.TempDir()
	source := filepath.ToSlash(repository(t))
	write(t, dir, map[string]string{"main.tf": "module \"m\" {\n  source = \"git::file://" + source + "\"\n}\nmodule \"copy\" {\n  source = \"git::file://" + source + "\"\n}\n"})
	for umask, want := range map[int][2]os.FileMode{0o002: {0o775, 0o664}, 0o022: {0o755, 0o644}, 0o077: {0o700, 0o600}} {
		must.Do(t, os.RemoveAll(filepath.Join(dir, ".terraform")))
		old := syscall.Umask(umask)
		_, err := (&Dir{Path: dir, Registry: localSource{}, Modules: module.Options{Git: &module.Git{}}}).InstallModules(t.Context())
		syscall.Umask(old)
		must.Do(t, err)
		for name, want := range map[string]os.FileMode{
			".terraform": want[0], modulesPath: want[0], modulesJSON: want[1], modulesPath + "/m": want[0], modulesPath + "/m/sub": want[0],
			modulesPath + "/m/sub/main.tf": want[1], modulesPath + "/copy": want[0], modulesPath + "/copy/sub/main.tf": want[1],
		} {
			if got := must.Get(os.Stat(filepath.Join(dir, filepath.FromSlash(name))))(t).Mode().Perm(); got != want {
				t.Errorf("umask %03o: %s has the mode %v, want %v", umask, name, got, want)
			}
		}
	}
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
