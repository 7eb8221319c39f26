package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/internal/programtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestExitCode: invalid input prints one line and the usage, and exits with code 2; help exits with code 0.
func TestExitCode(t *testing.T) {
	t.Parallel()
	programtest.Exits(t,
		programtest.Exit{Arg: "acme/terraform-provider-demo", Code: 2, Stderr: "quickstart: invalid provider address "},
		programtest.Exit{Arg: "-frob", Code: 2, Stderr: "quickstart: flag provided but not defined: -frob"},
		programtest.Exit{Arg: "-help", Code: 0, Stderr: "usage: quickstart "},
	)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out strings.Builder
	if err := run(t.Context(), []string{"-dir", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"provider   registry.example.com/acme/demo, ~> 1.0, for ",
		`services   ["providers.v1"]; providers are at https://registry.example.com/`,
		"versions   5 listed, 1.2.0 is the newest that fits",
		"package    terraform-provider-demo_1.2.0_",
		"signature  signed, by key ",
		"hash       zh:",
		"installed  " + dir,
		`file       "terraform-provider-demo_v1.2.0`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
	archives, _ := filepath.Glob(filepath.Join(dir, "registry.example.com", "acme", "demo", "*"))
	if len(archives) != 1 {
		t.Errorf("the directory contains %v, want one archive", archives)
	}
}

// TestNothingLeft: a failed download leaves no temporary directory.
func TestNothingLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // on Windows
	p := addrs.MustParseProvider("registry.example.com/acme/demo")
	registry := embeddedRegistry(p)
	registry.AddFault(regtest.Fault{Kind: regtest.Signature, Raw: []byte("nonsense")})
	client := &regclient.Client{Transport: &transport.Client{HTTP: registry.Client()}}
	pkg, err := provider.Find(t.Context(), client, p, addrs.ProviderConstraint{}, provider.Need{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fetch(t.Context(), client, pkg, "", io.Discard, io.Discard); !errors.Is(err, verify.ErrBadSignature) {
		t.Errorf("%v, want ErrBadSignature", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestPort: a host with a port is a directory, except on Windows.
func TestPort(t *testing.T) {
	t.Parallel()
	pkg := &provider.Package{
		Provider: addrs.MustParseProvider("registry.example.com:8443/acme/demo"),
		Version:  addrs.MustParseVersion("1.0.0"), Platform: addrs.CurrentPlatform(),
	}
	_, _, err := place(t.TempDir(), pkg)
	if runtime.GOOS != "windows" && err != nil || runtime.GOOS == "windows" && (err == nil || !strings.Contains(err.Error(), ":8443")) {
		t.Error(err)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want string
	}{
		"address":          {[]string{"acme/terraform-provider-demo"}, "demo"},
		"constraint":       {[]string{"acme/demo", "^1"}, "^1"},
		"platform":         {[]string{"-platform", "linux"}, "linux"},
		"flag":             {[]string{"-frob"}, "-frob"},
		"arguments":        {[]string{"acme/demo", ">=", "1"}, "quote"},
		"no such file":     {[]string{"-dir", os.DevNull}, os.DevNull},
		"missing platform": {[]string{"-platform", "plan9_mips"}, "plan9_mips"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programtest.OneLine(t, run(t.Context(), test.args, io.Discard, io.Discard), test.want)
		})
	}
}
