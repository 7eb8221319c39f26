package cliconfig_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
)

func TestHost(t *testing.T) {
	t.Parallel()
	sys := cliconfig.Host()
	dir, err := os.Getwd()
	if err != nil || sys.Dir != dir || sys.GOOS != runtime.GOOS || sys.GOARCH != runtime.GOARCH || len(sys.Environ) != len(os.Environ()) {
		t.Errorf("%s, %s, %s, %d variables, %v", sys.GOOS, sys.GOARCH, sys.Dir, len(sys.Environ), err)
	}
}

// TestPaths has the rules of both systems, whatever this one is.
func TestPaths(t *testing.T) {
	t.Parallel()
	unix, windows := cliconfig.System{GOOS: "linux", Dir: "/work/a"}, cliconfig.System{GOOS: "windows", Dir: `D:\work\a`}
	for _, c := range []struct {
		sys      cliconfig.System
		in, want string
	}{
		{unix, "b", "/work/a/b"},
		{unix, "../b//c/.", "/work/b/c"},
		{unix, "/b/../../c", "/c"},
		{unix, "", "/work/a"},
		{unix, `C:\b`, `/work/a/C:\b`},
		{unix, "a;b", "/work/a/a;b"},
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

// TestZero has neither a system nor a configuration.
func TestZero(t *testing.T) {
	t.Parallel()
	var cfg cliconfig.Config
	use(t, &cfg)
	if len(cfg.Methods()) != 1 || len(cfg.Files()) != 0 || len(cfg.DevOverrides()) != 0 || cfg.PluginCacheDir() != "" {
		t.Error("the zero Config is not empty")
	}
	loaded, err := cliconfig.Load(cliconfig.System{GOOS: "linux", Open: fakeFiles(nil)})
	if err != nil || len(loaded.Files()) != 0 || len(loaded.Methods()) != 1 {
		t.Errorf("%v", err)
	}
	if _, err := loaded.Store(hostA); err == nil {
		t.Error("there is a place for tokens without a home directory")
	}
}
