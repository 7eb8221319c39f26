//go:build unix

package cliconfig_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// An unreadable is a home directory with a file or directory that its user cannot read.
type unreadable struct {
	files  []string
	closed string // the unreadable file or directory
	mode   fs.FileMode
	xdg    bool     // XDG_CONFIG_HOME is xdg in the home directory
	named  bool     // TF_CLI_CONFIG_FILE is .tofurc in the home directory
	read   []string // files
	warned int
	failed bool
	search bool // the search for providers fails
}

var unreadables = map[string]unreadable{
	"main file":            {files: []string{".tofurc", ".terraformrc", ".terraform.d/a.tfrc"}, closed: ".tofurc", failed: true},
	"main file and XDG":    {files: []string{".tofurc", "xdg/opentofu/tofurc"}, closed: ".tofurc", xdg: true, failed: true},
	"named file":           {files: []string{".tofurc"}, closed: ".tofurc", named: true, failed: true},
	"home of a named file": {files: []string{".tofurc"}, closed: ".", named: true, failed: true},
	"further file":         {files: []string{".terraform.d/a.tfrc"}, closed: ".terraform.d/a.tfrc", failed: true},
	"directory":            {files: []string{".terraform.d/a.tfrc"}, closed: ".terraform.d", mode: 0o311, failed: true},
	"closed directory":     {files: []string{".terraform.d/a.tfrc"}, closed: ".terraform.d", failed: true},
	"directory and XDG":    {files: []string{".terraform.d/a.tfrc", "xdg/opentofu/a.tfrc"}, closed: ".terraform.d", xdg: true, failed: true},
	"helper":               {files: []string{".tofurc", helperPath}, closed: helperPath, mode: 0o111, read: []string{".tofurc"}},
	"plugins":              {files: []string{".terraform.d/plugins/a"}, closed: ".terraform.d/plugins", search: true},
	// Three of the warnings are about plugin directories.
	"home": {files: []string{".tofurc", ".terraformrc", ".terraform.d/a.tfrc"}, closed: ".", warned: 5},
}

// TestUnreadable loads configurations with unreadable files and directories. They exist, so they are
// errors, other than in the CLI. Only what a closed home directory has is unknown.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		for name, u := range unreadables {
			at := filepath.Join(homes(dir), name)
			for _, file := range u.files {
				text := ""
				if file == ".tofurc" {
					text = helperConfig
				}
				must.Do(t, os.Chmod(write(t, filepath.Join(at, file), text), 0o644))
			}
			must.Do(t, os.Chmod(filepath.Join(at, u.closed), u.mode))
			t.Cleanup(func() {
				if err := os.Chmod(filepath.Join(at, u.closed), 0o700); err != nil {
					t.Error(err)
				}
			})
		}
	}, func(t *testing.T, dir string) {
		for name, u := range unreadables {
			u.check(t, filepath.Join(homes(dir), name))
		}
	})
}

// homes is a directory beside the directory of the test, in which all files are readable.
func homes(dir string) string { return filepath.Join(filepath.Dir(dir), "homes") }

func (u *unreadable) check(t *testing.T, home string) {
	sys := cliconfig.System{GOOS: "linux", Home: home, Dir: home}
	if u.xdg {
		sys.Environ = []string{"XDG_CONFIG_HOME=" + filepath.Join(home, "xdg")}
	}
	if u.named {
		sys.Environ = append(sys.Environ, "TF_CLI_CONFIG_FILE="+filepath.Join(home, ".tofurc"))
	}
	cfg, err := cliconfig.Load(t.Context(), sys)
	if err != nil {
		if !u.failed || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", home, err)
		}
		return
	}
	read := slices.Clone(u.read)
	for i, file := range read {
		read[i] = filepath.Join(home, file)
	}
	if u.failed || len(cfg.Warnings()) != u.warned || !slices.Equal(cfg.Files(), read) {
		t.Errorf("%s: %v, read %q", home, cfg.Warnings(), cfg.Files())
	}
	if !u.search {
		return
	}
	reg := registryOf(alpha)
	cfg.HTTP = reg.Client()
	if _, err := cfg.ProviderSource().ProviderVersions(t.Context(), alpha); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%s: the search ends with %v", home, err)
	}
}
