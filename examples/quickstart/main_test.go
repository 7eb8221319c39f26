package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestMain lets the test binary be the program itself.
func TestMain(m *testing.M) {
	if os.Getenv("QUICKSTART_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestExitCode: bad input is one line on the standard error and code 1, help is none of
// that.
func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		arg    string
		code   int
		stderr string // a line that starts so, and only that one if the code is not 0
	}{
		{"acme/terraform-provider-demo", 1, "quickstart: invalid provider address "},
		{"-frob", 1, "quickstart: flag provided but not defined: -frob"},
		{"-help", 0, "usage: quickstart "},
	} {
		var stdout, stderr strings.Builder
		cmd := exec.Command(os.Args[0], test.arg)
		cmd.Env = append(os.Environ(), "QUICKSTART_TEST_MAIN=1")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != test.code {
			t.Errorf("%s: %v, want code %d", test.arg, err, test.code)
		}
		if stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), test.stderr) || test.code != 0 && strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: output %q, errors %q", test.arg, &stdout, &stderr)
		}
	}
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
		t.Errorf("the directory holds %v, want one archive", archives)
	}
}

// TestNothingLeft: a download that fails leaves no temporary directory.
func TestNothingLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // on Windows
	p := addrs.MustParseProvider("registry.example.com/acme/demo")
	registry := embeddedRegistry(p)
	registry.AddFault(regtest.Fault{Kind: regtest.Signature, Raw: []byte("nonsense")})
	client := &regclient.Client{HTTP: registry.Client()}
	pkg, err := provider.Find(t.Context(), client, p, addrs.Constraint{}, provider.Need{})
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

// TestPort: a host with a port is a directory, but on Windows, where that is an error
// in plain words.
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
		"address":      {[]string{"acme/terraform-provider-demo"}, "demo"},
		"constraint":   {[]string{"acme/demo", "^1"}, "^1"},
		"platform":     {[]string{"-platform", "linux"}, "linux"},
		"flag":         {[]string{"-frob"}, "-frob"},
		"arguments":    {[]string{"acme/demo", ">=", "1"}, "quote"},
		"no such file": {[]string{"-dir", os.DevNull}, os.DevNull},
		"not on offer": {[]string{"-platform", "plan9_mips"}, "plan9_mips"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), test.args, io.Discard, io.Discard)
			if err == nil {
				t.Fatal("no error")
			}
			if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, test.want) {
				t.Errorf("error is not one clear line with %q: %q", test.want, text)
			}
		})
	}
}
