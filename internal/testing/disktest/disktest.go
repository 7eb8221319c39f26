// Package disktest runs tests in processes that are killed, or on a full disk. The process can be killed at a certain
// point, or a directory is read-only. It works for root, too.
package disktest

import (
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// childArg is the first argument of the child process, followed by the name of the test, the
// directory and the limit. A child starts no further child.
const childArg = "disktest-child"

// Full runs test with an empty directory and a limit of bytes for each file. A test, not a subtest,
// must call it once.
func Full(t *testing.T, limit int64, test func(t *testing.T, dir string)) {
	t.Helper()
	if isChild(t) {
		limitFileSize(t, limit)
		test(t, flag.Arg(2))
		return
	}
	runChild(t, t.TempDir(), limit)
}

// ReadOnly runs test with a directory that prepare has filled and that is read-only then. A test,
// not a subtest, must call it once.
func ReadOnly(t *testing.T, prepare, test func(t *testing.T, dir string)) {
	t.Helper()
	if isChild(t) {
		dropRoot(t)
		test(t, flag.Arg(2))
		return
	}
	dir := t.TempDir()
	prepare(t, dir)
	makeReadOnly(t, dir)
	runChild(t, dir, 0)
}

// isChild reports whether this process is the child for the test.
func isChild(t *testing.T) bool {
	t.Helper()
	switch {
	case flag.NArg() == 0:
		return false
	case flag.Arg(0) != childArg || flag.Arg(1) != t.Name() || flag.NArg() != 4:
		t.Fatalf("the arguments are %q", flag.Args())
	}
	return true
}

// runChild runs the test in a child process.
func runChild(t *testing.T, dir string, limit int64) {
	t.Helper()
	skipUnlessSupported(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s",
		childArg, t.Name(), dir, strconv.FormatInt(limit, 10))
	cmd.Env = environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// environ is the environment of the child. By default the race detector delays its exit by a
// second.
func environ() []string { return append(os.Environ(), "GORACE=atexit_sleep_ms=0") }
