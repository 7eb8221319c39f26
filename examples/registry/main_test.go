package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestArguments checks bad input, and how the program ends.
func TestArguments(t *testing.T) {
	t.Parallel()
	programtest.Program{Name: "registry", Run: run, Usage: map[string][]string{
		`unexpected argument "x"`: {"x"},
	}, Fails: map[string][]string{
		os.DevNull: {"-dir", filepath.Join(os.DevNull, "x")},
	}}.Test(t)
}

// TestRun publishes, and installs with the CLIs that are installed.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "registry")
	var out strings.Builder
	must.Do(t, run(t.Context(), []string{"-dir", dir}, &out, io.Discard))
	wants := []string{"published registry.example.com/acme/demo 1.0.0 ", "published registry.example.com/acme/network/aws 1.0.0, h1:"}
	for _, cli := range []string{"tofu", "terraform"} {
		if _, err := exec.LookPath(cli); err == nil {
			wants = append(wants, " "+cli)
		}
	}
	for _, want := range wants {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
	must.Get(os.Stat(filepath.Join(dir, "v1", "providers", "acme", "demo", "versions")))(t)
}
