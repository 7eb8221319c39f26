package main

import (
	"io"
	"os"
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
	programtest.Program{Name: "mirror", Run: run, Usage: map[string][]string{
		"a/b/c/d": {"a/b/c/d"},
		"^1":      {"acme/dns@^1"},
		"amiga":   {"-platforms", "linux_amd64,amiga"},
	}, Fails: map[string][]string{
		os.DevNull: {"-dir", filepath.Join(os.DevNull, "x")},
	}}.Test(t)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "mirror")
	var out strings.Builder
	must.Do(t, run(t.Context(), []string{"-dir", dir}, &out, io.Discard))
	for _, want := range []string{
		"chosen   registry.example.com/acme/cloud 1.1.0, of 2 versions\n",
		"added    registry.example.com/acme/dns 1.1.0 darwin_arm64, ",
		"filesystem_mirror {", "network_mirror {", dir,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "added    "); n != 9 {
		t.Errorf("%d packages added, want 9:\n%s", n, &out)
	}
	out.Reset()
	must.Do(t, run(t.Context(), []string{"-dir", dir}, &out, io.Discard))
	if n := strings.Count(out.String(), "kept     "); n != 9 {
		t.Errorf("%d packages kept the second time, want 9:\n%s", n, &out)
	}
	for _, name := range []string{"index.json", "1.1.0.json", "terraform-provider-random_1.1.0_linux_amd64.zip"} {
		must.Get(os.Stat(filepath.Join(dir, "registry.example.com", "acme", "random", name)))(t)
	}
}
