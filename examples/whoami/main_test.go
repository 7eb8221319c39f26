package main

import (
	"os"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestMain makes this test program the helper that run starts. With arguments of the helper,
// it does not run the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		main()
		return
	}
	programtest.Main(m, main)
}

// TestArguments checks bad input, and how the program ends.
func TestArguments(t *testing.T) {
	t.Parallel()
	programtest.Program{Name: "whoami", Run: run, Usage: map[string][]string{
		"https://example.com": {"https://example.com"},
		"bad addr!":           {"bad addr!"},
	}, Fails: map[string][]string{
		"store": {helperArgument, "store", "a.test"},
	}}.Test(t)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	var out, terminal strings.Builder
	must.Do(t, run(t.Context(), nil, &out, &terminal))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(sampleHosts) {
		t.Fatalf("%q", lines)
	}
	for i, want := range []string{
		"environment variable TF_TOKEN_variable_example_com", ":5:13", ":1:18",
		":8:13", "credentials helper terraform-credentials-vault", "no token",
	} {
		if !strings.HasPrefix(lines[i], sampleHosts[i]) || !strings.Contains(lines[i], want) {
			t.Errorf("%q, want %q", lines[i], want)
		}
	}
	if !strings.Contains(terminal.String(), "none.example.com have no token") {
		t.Errorf("warnings %q, want one about none.example.com", terminal.String())
	}
	if all := out.String() + terminal.String(); strings.Contains(all, "xxxxxx") {
		t.Errorf("a token was printed: %s", all)
	}
}
