// Package programtest tests what all example programs have in common: how they end, and
// what they say of bad arguments.
package programtest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/examples/program"
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

// Command returns a command that runs the program. It is killed at the end of the test.
func Command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), role+"=1")
	return cmd
}

// A Program is a program whose TestMain calls [Main].
type Program struct {
	Name string
	Run  func(ctx context.Context, args []string, out, terminal io.Writer) error

	Usage map[string][]string // wrong arguments, by a part of the error
	Fails map[string][]string // arguments with which the program fails otherwise, likewise
}

// Test checks that each error is one clear line, that the program prints its usage with errors in the
// arguments only, and how it ends.
func (p Program) Test(t *testing.T) {
	t.Helper()
	for _, cases := range []map[string][]string{p.Usage, p.Fails} {
		for text, args := range cases {
			err := p.Run(t.Context(), args, io.Discard, io.Discard)
			if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), text) {
				t.Errorf("%q: %v, want one line with %q", args, err, text)
			}
			if _, usage := errors.AsType[*program.UsageError](err); usage != (p.Usage[text] != nil) {
				t.Errorf("%q: %v is an error in the arguments: %v", args, err, usage)
			}
		}
	}
	for arg, want := range map[string]struct {
		code   int
		first  string // line of the standard error
		second string
	}{
		"-help": {0, "usage: " + p.Name + " ", ""},
		"-nope": {2, p.Name + ": flag provided but not defined: -nope", "usage: " + p.Name + " "},
	} {
		var stdout, stderr strings.Builder
		cmd := Command(t, arg)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want.code {
			t.Errorf("%s: %v, want code %d", arg, err, want.code)
		}
		first, second, _ := strings.Cut(stderr.String(), "\n")
		if stdout.Len() > 0 || !strings.HasPrefix(first, want.first) || !strings.HasPrefix(second, want.second) {
			t.Errorf("%s: output %q, errors %q", arg, &stdout, &stderr)
		}
	}
}
