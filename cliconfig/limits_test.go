package cliconfig_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/failure"
)

// home returns a System on the real disk with these files in the home directory, which is
// the working directory too.
func home(t *testing.T, files map[string]string) cliconfig.System {
	t.Helper()
	sys := cliconfig.System{GOOS: "linux", GOARCH: "amd64", Home: t.TempDir()}
	if runtime.GOOS == "windows" {
		sys.GOOS = runtime.GOOS // other systems do not accept its absolute paths
	}
	sys.Dir = sys.Home
	for name, text := range files {
		write(t, filepath.Join(sys.Home, native(name)), text)
	}
	return sys
}

// native returns the path of a file in the home directory on this system, from its path on
// Unix.
func native(name string) string {
	if runtime.GOOS == "windows" {
		first, rest, _ := strings.Cut(name, "/")
		there := map[string]string{".tofurc": "tofu.rc", ".terraformrc": "terraform.rc", ".terraform.d": "terraform.d"}
		if first, ok := there[first]; ok {
			return filepath.Join("AppData", "Roaming", first, rest)
		}
	}
	return filepath.FromSlash(name)
}

// TestLimits loads a main file at a limit, and one beyond it.
func TestLimits(t *testing.T) {
	t.Parallel()
	for extra := range 2 {
		for name, c := range map[string]struct {
			text     string
			variable string // A
			refused  bool   // at the limit as well
			cause    string
		}{
			"file size": {text: "#" + strings.Repeat("x", cliconfig.MaxFile-1+extra), cause: "bytes"},
			"methods":   {text: "provider_installation {\n" + strings.Repeat("  direct {}\n", 1000+extra) + "}\n", cause: "methods"},
			"path length": { // of a directory that does not exist
				text:     "plugin_cache_dir = \"${A}" + strings.Repeat("x", 16<<10-len("${A}")) + "\"\n",
				variable: strings.Repeat("y", 16<<10+extra), refused: true, cause: ": the path is too long",
			},
		} {
			sys := home(t, map[string]string{".tofurc": c.text})
			sys.Environ = []string{"A=" + c.variable}
			_, err := cliconfig.Load(sys)
			tooLarge := err != nil && strings.HasSuffix(err.Error(), c.cause)
			if tooLarge != (extra == 1) || (err == nil) == (tooLarge || c.refused) || tooLarge && !c.refused && !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("%s, %d beyond the limit: Load: %v", name, extra, err)
			}
		}
	}
}

func TestFileCount(t *testing.T) {
	t.Parallel()
	files := map[string]string{".terraform.d/other.txt": ""}
	for i := range cliconfig.MaxFiles {
		files[fmt.Sprintf(".terraform.d/%d.tfrc", i)] = ""
	}
	sys := home(t, files)
	cfg, err := cliconfig.Load(sys)
	if err != nil || len(cfg.Files()) != cliconfig.MaxFiles {
		t.Fatal(err)
	}
	write(t, filepath.Join(sys.Home, native(".terraform.d/more.tfrc.json")), "{}")
	if _, err := cliconfig.Load(sys); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("one file more: %v", err)
	}
}

// TestProblemCount loads files with more problems than Load lists. The only error comes
// after the limit.
func TestProblemCount(t *testing.T) {
	t.Parallel()
	warnings := func(n int) string { return strings.Repeat("odd = 1\n", n) }
	for _, n := range []int{100, 200} {
		if listed := len(load(t, home(t, map[string]string{".tofurc": warnings(n)})).Warnings()); listed != 100 {
			t.Errorf("%d warnings: %d are listed, want 100", n, listed)
		}
	}
	_, err := cliconfig.Load(home(t, map[string]string{".tofurc": warnings(200) + "plugin_cache_dir = []\n"}))
	all, ok := errors.AsType[*cliconfig.Error](err)
	if !ok || len(all.Problems) != 101 || len(all.Unwrap()) != 1 {
		t.Errorf("an error behind 200 warnings: %v", err)
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	_, err := cliconfig.Load(home(t, map[string]string{".tofurc": "a = \n}", ".terraform.d/x.tfrc": "plugin_cache_dir = []\nodd = 1\n"}))
	all, ok := errors.AsType[*cliconfig.Error](err)
	if !ok || len(all.Problems) != 3 || len(all.Unwrap()) != 2 || strings.Count(err.Error(), "\n") != 2 || strings.Contains(err.Error(), "odd") {
		t.Errorf("%v", err)
	}
	problem, ok := errors.AsType[*cliconfig.Problem](err)
	if !ok || problem.Line != 2 || problem.Warning || !strings.HasSuffix(problem.File, native(".tofurc")) {
		t.Errorf("%+v", problem)
	}
}

// TestPlace prints places, some with control characters.
func TestPlace(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]cliconfig.Place{
		"default":                        {},
		"environment variable TF_X":      {Variable: "TF_X"},
		"/a":                             {File: "/a"},
		"/a:2:3":                         {File: "/a", Line: 2, Column: 3},
		`"/a\x1b[2J":2:3`:                {File: "/a\x1b[2J", Line: 2, Column: 3},
		`environment variable "TF_\x1b"`: {Variable: "TF_\x1b"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
