// Package programtest tests what all example programs have in common: how they end, and
// what they say of bad arguments.
package programtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// role is the environment variable of a process that is the program, not its tests.
const role = "TOFUREG_EXAMPLE_MAIN"

// Main is for TestMain: it lets the test binary be the program itself.
func Main(m *testing.M, main func()) {
	if os.Getenv(role) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// An Exit is how the program ends when it is run with an argument.
type Exit struct {
	Arg    string // the only argument
	Code   int    // with which it ends
	Stderr string // a line that starts so; with code 1 it is the only one, and with code 2 the usage follows
}

// Exits runs the program in processes of their own, whose TestMain has to call [Main]. On
// the standard output there is nothing.
func Exits(t *testing.T, exits ...Exit) {
	t.Helper()
	for _, e := range exits {
		var stdout, stderr strings.Builder
		cmd := exec.CommandContext(t.Context(), os.Args[0], e.Arg)
		cmd.Env = append(os.Environ(), role+"=1")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != e.Code {
			t.Errorf("%s: %v, want code %d", e.Arg, err, e.Code)
		}
		_, usage, _ := strings.Cut(stderr.String(), "\n")
		if stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), e.Stderr) || e.Code == 1 && usage != "" || e.Code == 2 && !strings.HasPrefix(usage, "usage: ") {
			t.Errorf("%s: output %q, errors %q", e.Arg, &stdout, &stderr)
		}
	}
}

// OneLine wants an error that is one line and has a text in it.
func OneLine(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), text) {
		t.Errorf("want an error that is one clear line with %q, got: %v", text, err)
	}
}
