package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/contrib/workdir"
	"github.com/tofureg/tofureg/examples/internal/programtest"
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
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
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
	show(&out, &terminal, &workdir.Result{Tree: &workdir.Tree{Modules: []workdir.Module{{Key: "a", Missing: true}}, Warnings: []string{"w"}}})
	if !strings.Contains(out.String(), "module    a") || !strings.Contains(terminal.String(), "warning: w") {
		t.Errorf("show prints %s and %s, want module and warning", &out, &terminal)
	}
}
