package main

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/examples/internal/programtest"
)

// TestExitCode: arguments that are wrong print one line and the usage, and exit with code 2.
func TestExitCode(t *testing.T) {
	t.Parallel()
	programtest.Exits(t,
		programtest.Exit{Arg: "bad addr!", Code: 2, Stderr: "whoami: invalid "},
		programtest.Exit{Arg: "-nope", Code: 2, Stderr: "whoami: flag provided but not defined: -nope"},
		programtest.Exit{Arg: "-help", Code: 0, Stderr: "usage: whoami "},
	)
}

// TestMain makes this test program the helper that run starts. With arguments of the helper,
// it does not run the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		main()
		return
	}
	programtest.Main(m, main)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	var out, terminal strings.Builder
	if err := run(t.Context(), nil, &out, &terminal); err != nil {
		t.Fatal(err)
	}
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

func TestArguments(t *testing.T) {
	t.Parallel()
	var out, terminal strings.Builder
	if err := run(t.Context(), []string{"https://example.com"}, &out, &terminal); err == nil {
		t.Error("a URL is accepted as a host")
	}
	if err := run(t.Context(), []string{"-h"}, &out, &terminal); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	if err := run(t.Context(), []string{helperArgument, "store", "a.test"}, &out, &terminal); err == nil {
		t.Error("the helper supports store")
	}
}
