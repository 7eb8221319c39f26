package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestArguments checks bad input, and how the program ends.
func TestArguments(t *testing.T) {
	t.Parallel()
	occupied := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(occupied, "mine"), nil, 0o600))
	programtest.Program{Name: "module", Run: run, Usage: map[string][]string{
		"acme/network": {"acme/network"},
		"not a URL":    {"https://example.com/network.zip"},
		"leads out":    {"acme/network/aws//../x"},
		"^1":           {"acme/network/aws", "^1"},
		"quote":        {"acme/network/aws", ">=", "1"},
	}, Fails: map[string][]string{
		os.DevNull: {"-dir", filepath.Join(os.DevNull, "x")},
		"-replace": {"-dir", occupied},
	}}.Test(t)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "network")
	var out strings.Builder
	must.Do(t, run(t.Context(), []string{"-dir", dir}, &out, io.Discard))
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
	must.Get(os.Stat(filepath.Join(dir, "LICENSE")))(t)
	out.Reset()
	if err := run(t.Context(), []string{"-dir", dir, "-replace"}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "\nunchanged  ") {
		t.Errorf("second run: %v, want a line \"unchanged\":\n%s", err, &out)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	location := must.Get(module.ParseLocation("git::https://user:s3cr3t@git.example.com/network.git//a?ref=v1.2.0&token=s3cr3t"))(t)
	if got, want := fields(location), `kind git, ref "v1.2.0", directory "a"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err := module.Download(t.Context(), nil, module.Request{Location: location, Dir: filepath.Join(t.TempDir(), "x")}, module.Options{})
	if text := explain(err).Error(); !strings.HasSuffix(text, "set -git to run the git program") || strings.Contains(text, "s3cr3t") {
		t.Errorf("explain: %s, want the flag -git and no secrets", text)
	}
}
