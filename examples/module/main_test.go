package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/examples/internal/programtest"
	"github.com/tofureg/tofureg/module"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestExitCode: arguments that are wrong print one line and the usage, and exit with code 2.
func TestExitCode(t *testing.T) {
	t.Parallel()
	programtest.Exits(t,
		programtest.Exit{Arg: "acme/network", Code: 2, Stderr: "module: "},
		programtest.Exit{Arg: "-nope", Code: 2, Stderr: "module: flag provided but not defined: -nope"},
		programtest.Exit{Arg: "-help", Code: 0, Stderr: "usage: module "},
	)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "network")
	var out strings.Builder
	if err := run(t.Context(), []string{"-dir", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"module     registry.example.com/acme/network/aws//modules/subnet, ~> 1.0\n",
		`warning    ignored invalid version "nightly"`,
		"versions   5 listed, 1.2.0 is the newest match\n",
		"location   https://registry.example.com/packages/",
		`           kind http, archive "tar.gz", directory "modules/subnet"`,
		"hash       h1:",
		"installed  " + filepath.Join(dir, "modules", "subnet") + "\n",
		`file       "main.tf", 13 bytes`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not contain %q:\n%s", want, &out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "LICENSE")); err != nil {
		t.Error(err)
	}
	out.Reset()
	if err := run(t.Context(), []string{"-dir", dir, "-replace"}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "\nunchanged  ") {
		t.Errorf("second run: %v, want a line \"unchanged\":\n%s", err, &out)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"address":      {[]string{"acme/network"}, "acme/network"},
		"URL":          {[]string{"https://example.com/network.zip"}, "not a URL"},
		"directory":    {[]string{"acme/network/aws//../x"}, "leads out"},
		"constraint":   {[]string{"acme/network/aws", "^1"}, "^1"},
		"flag":         {[]string{"-frob"}, "-frob"},
		"arguments":    {[]string{"acme/network/aws", ">=", "1"}, "quote"},
		"no such file": {[]string{"-dir", filepath.Join(os.DevNull, "x")}, os.DevNull},
		"occupied":     {[]string{"-dir", occupied}, "-replace"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programtest.OneLine(t, run(t.Context(), test.args, io.Discard, io.Discard), test.want)
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	location, err := module.ParseLocation("git::https://user:s3cr3t@git.example.com/network.git//a?ref=v1.2.0&token=s3cr3t")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fields(location), `kind git, ref "v1.2.0", directory "a"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = module.DownloadLocation(t.Context(), nil, location, filepath.Join(t.TempDir(), "x"), module.Options{})
	if text := explain(err).Error(); !strings.HasSuffix(text, "set -git to run the git program") || strings.Contains(text, "s3cr3t") {
		t.Errorf("explain: %s, want the flag -git and no secrets", text)
	}
}
