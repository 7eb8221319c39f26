package cliconfig_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
)

// TestUnopened loads a system in which a file exists and cannot be opened. A main file is
// ignored with a warning, and no other main file is read. The configuration directory is an
// error.
func TestUnopened(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/home/alice/.tofurc": "", "/home/alice/.terraformrc": "", "/home/alice/.terraform.d/credentials.tfrc.json": "{}",
		"/xdg/opentofu/tofurc": "", "/xdg/opentofu/a.tfrc": "",
	}
	for _, environ := range [][]string{nil, {"XDG_CONFIG_HOME=/xdg"}} {
		for closed, want := range map[string]string{
			"/home/alice/.tofurc":      "/home/alice/.terraform.d/credentials.tfrc.json",
			"/home/alice/.terraform.d": "",
		} {
			sys := cliconfig.System{GOOS: "linux", Home: "/home/alice", Environ: environ, Open: closedFiles(files, closed)}
			cfg, err := cliconfig.Load(sys)
			if want == "" {
				if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), closed) {
					t.Errorf("%s, %q: %v", closed, environ, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %q: %v", closed, environ, err)
				continue
			}
			warnings := cfg.Warnings()
			if len(warnings) != 1 || !errors.Is(warnings[0], fs.ErrPermission) || !slices.Equal(cfg.Files(), []string{want}) {
				t.Errorf("%s, %q: %v, read %q", closed, environ, warnings, cfg.Files())
			}
		}
	}
}

// closedFiles opens all files except one.
func closedFiles(files map[string]string, closed string) func(string) (fs.File, error) {
	open := fakeFiles(files)
	return func(name string) (fs.File, error) {
		if name == closed {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		return open(name)
	}
}
