package cliconfig_test

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestDefaultHost(t *testing.T) {
	t.Parallel()
	for want, sys := range map[string]cliconfig.System{
		"registry.opentofu.org": exampleSystem(nil),
		"registry.terraform.io": {GOOS: "linux", Home: "/home/alice", Terraform: true, Open: exampleSystem(nil).Open},
	} {
		if host := load(t, sys).DefaultHost(); host.String() != want {
			t.Errorf("default host %s, want %s", host, want)
		}
	}
	if host := new(cliconfig.Config).DefaultHost(); host != addrs.DefaultHost() {
		t.Errorf("the zero Config: %s", host)
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	sys := cliconfig.Host()
	dir, err := os.Getwd()
	if err != nil || sys.Dir != dir || sys.GOOS != runtime.GOOS || sys.GOARCH != runtime.GOARCH || len(sys.Environ) != len(os.Environ()) {
		t.Errorf("%s, %s, %s, %d variables, %v", sys.GOOS, sys.GOARCH, sys.Dir, len(sys.Environ), err)
	}
}

// TestParse parses a text instead of the files of the system.
func TestParse(t *testing.T) {
	t.Parallel()
	sys := exampleSystem(nil)
	sys.Environ = []string{"TF_TOKEN_env_test=from-environment"}
	cfg := must.Get(cliconfig.Parse(sys, "buffer.tfrc", []byte(`credentials "a.test" { token = "from-text" }`)))(t)
	wantToken(t, cfg, hostA, "from-text")
	wantToken(t, cfg, svchost.MustParse("env.test"), "from-environment")
	if files := cfg.Files(); len(files) != 1 || files[0] != "buffer.tfrc" {
		t.Errorf("Files() = %q, want the name that was given", files)
	}
	_, err := cliconfig.Parse(sys, "buffer.tfrc", []byte("\n\ncredentials {"))
	failed, ok := errors.AsType[*cliconfig.Error](err)
	if !ok || len(failed.Problems) == 0 || failed.Problems[0].Place.File != "buffer.tfrc" || failed.Problems[0].Place.Line != 3 {
		t.Errorf("Parse of half a block: %v; want a problem in line 3 of buffer.tfrc", err)
	}
	comment := strings.Repeat("#", cliconfig.MaxFile)
	if _, err := cliconfig.Parse(sys, "long", []byte(comment)); err != nil {
		t.Errorf("Parse of MaxFile bytes: %v", err)
	}
	if _, err := cliconfig.Parse(sys, "long", []byte(comment+"#")); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("Parse of MaxFile+1 bytes: %v, want ErrTooLarge", err)
	}
}

// TestPaths checks the rules of both systems on any system.
func TestPaths(t *testing.T) {
	t.Parallel()
	unix, windows := cliconfig.System{GOOS: "linux", Dir: "/project/a"}, cliconfig.System{GOOS: "windows", Dir: `D:\work\a`}
	for _, c := range []struct {
		sys      cliconfig.System
		in, want string
	}{
		{unix, "b", "/project/a/b"},
		{unix, "../b//c/.", "/project/b/c"},
		{unix, "/b/../../c", "/c"},
		{unix, "", "/project/a"},
		{unix, `C:\b`, `/project/a/C:\b`},
		{unix, "a;b", "/project/a/a;b"},
		{cliconfig.System{GOOS: "linux"}, "../b", "../b"},
		{windows, "b", `D:\work\a\b`},
		{windows, `..\b\\c\.`, `D:\work\b\c`},
		{windows, "../b/c", `D:\work\b\c`},
		{windows, `C:\b\..\..\c`, `C:\c`},
		{windows, "c:/b", `c:\b`},
		{windows, `\b`, `D:\b`},
		{windows, `C:b\c`, `C:b\c`},
		{windows, `C:`, `C:.`},
		{windows, `\\server\share`, `\\server\share`},
		{windows, `//server/share/a/../..`, `\\server\share\`},
		{windows, `\\server`, `D:\server`},
		{windows, "a;b", `D:\work\a\a;b`},
		{windows, "", `D:\work\a`},
		{cliconfig.System{GOOS: "windows"}, `..\b`, `..\b`},
		{cliconfig.System{GOOS: "windows", Dir: `\\server\share\a`}, `\b`, `\\server\share\b`},
	} {
		if got := c.sys.AbsPath(c.in); got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.sys.GOOS, c.in, got, c.want)
		}
	}
}

// TestZero uses the zero Config, and loads a system without files.
func TestZero(t *testing.T) {
	t.Parallel()
	var cfg cliconfig.Config
	use(t, &cfg)
	if len(cfg.Methods()) != 1 || len(cfg.Files()) != 0 || len(cfg.Installer("").DevOverrides) != 0 || cacheDir(&cfg) != "" {
		t.Error("the zero Config is not empty")
	}
	loaded := load(t, cliconfig.System{GOOS: "linux", Open: fakeFiles(nil)})
	if len(loaded.Files()) != 0 || len(loaded.Methods()) != 1 {
		t.Errorf("a system without files: files %q, methods %v", loaded.Files(), loaded.Methods())
	}
	if _, err := loaded.Store(hostA); err == nil {
		t.Error("Store succeeds without a home directory")
	}
	parsed := must.Get(cliconfig.Parse(cliconfig.System{GOOS: "linux", Home: t.TempDir(), Open: fakeFiles(nil)}, "x", nil))(t)
	if _, err := parsed.Store(hostA); err != nil {
		t.Errorf("Store of a Config from Parse: %v, want the credentials file in the home directory", err)
	}
}

// TestUnopenedMainFile: a main file that System.Open cannot open is an error, because it may exist.
func TestUnopenedMainFile(t *testing.T) {
	t.Parallel()
	for _, sys := range []cliconfig.System{
		{GOOS: "linux", Home: "/home/u"},
		{GOOS: "windows", Home: `C:\Users\u`, Environ: []string{`APPDATA=C:\Users\u\AppData\Roaming`}},
	} {
		none := fakeFiles(nil)
		sys.Open = func(name string) (fs.File, error) {
			if strings.HasSuffix(name, "rc") {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
			}
			return none(name)
		}
		if _, err := cliconfig.Load(t.Context(), sys); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: Load: %v, want ErrPermission", sys.GOOS, err)
		}
	}
}
