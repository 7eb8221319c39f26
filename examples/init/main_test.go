package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/workdir"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestArguments checks bad input, and how the program ends.
func TestArguments(t *testing.T) {
	t.Parallel()
	programtest.Program{Name: "init", Run: run, Usage: map[string][]string{
		`unexpected argument "bad addr!"`: {"bad addr!"},
		"version":                         {"-version", "x"},
	}, Fails: map[string][]string{
		"missing": {"-dir", filepath.Join(t.TempDir(), "missing")},
	}}.Test(t)
}

// TestRun prepares a directory whose module lies above it.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.tf": "resource \"terraform_data\" \"x\" {}\n", "examples/simple/main.tf": "module \"m\" {\n  source = \"../..\"\n}\n"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(text), 0o644))
	}
	var out, terminal bytes.Buffer
	simple := filepath.Join(dir, "examples", "simple")
	if err := run(t.Context(), []string{"-dir", simple}, &out, &terminal); err != nil {
		t.Fatalf("init: %v\n%s", err, &terminal)
	}
	manifest, err := os.ReadFile(filepath.Join(simple, ".terraform", "modules", "modules.json"))
	if err != nil || !strings.Contains(string(manifest), `"Source":"../..","Dir":"../.."`) {
		t.Errorf("the manifest is %s, %v; want the module ../..", manifest, err)
	}
	show(&out, &terminal, &workdir.Result{Modules: []workdir.Module{{Key: "a", Missing: true}}, Warnings: []string{"w"}})
	if !strings.Contains(out.String(), "module    a") || !strings.Contains(terminal.String(), "warning: w") {
		t.Errorf("show prints %s and %s, want module and warning", &out, &terminal)
	}
}

// TestProgress: each package is a line, and the last line of a terminal shows the progress.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	d := &display{line: program.Line{W: &out, Terminal: true}, bytes: program.Bytes{}}
	d.module(module.Event{Kind: module.EventBytes, Dir: "m", Bytes: 5e5})
	d.module(module.Event{Kind: module.EventStored, Dir: "m", Location: "https://example.com/m.zip"})
	p, v := addrs.MustParseProvider("example.com/acme/demo"), addrs.MustParseVersion("1.0.0")
	d.provider(provider.Event{Kind: provider.EventBytes, Provider: p, Bytes: 1e6, Total: 2e6})
	d.provider(provider.Event{Kind: provider.EventInstalled, Provider: p, Version: v})
	const clear = "\r\x1b[K"
	want := clear + "0 modules, 0 providers, 0.5 of 0.5 MB" +
		clear + "fetched   https://example.com/m.zip\n" + clear + "1 modules, 0 providers, 0.5 of 0.5 MB" +
		clear + "1 modules, 0 providers, 1.5 of 2.5 MB" +
		clear + "installed example.com/acme/demo 1.0.0\n" + clear + "1 modules, 1 providers, 1.5 of 2.5 MB"
	if out.String() != want {
		t.Errorf("the terminal has\n%q, want\n%q", &out, want)
	}
}

// check ends the test at an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
