// Package disktest runs a part of a test in a process of its own: one that can be killed at
// a certain point, or one for which the disk is full or a directory can only be read. It
// works for root too, whom permissions do not stop.
package disktest

import (
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// role is the first argument of such a process; the name of the test, the directory and
// the limit follow. Whoever has it starts no further process.
const role = "disktest-child"

// Full runs test with an empty directory and no room for any file of more than limit bytes.
// It must be called once by a test, and not by a subtest.
func Full(t *testing.T, limit int64, test func(t *testing.T, dir string)) {
	t.Helper()
	if child(t) {
		limited(t, limit)
		test(t, flag.Arg(2))
		return
	}
	start(t, t.TempDir(), limit)
}

// ReadOnly runs test with a directory that prepare has filled and nobody can change any
// more. It must be called once by a test, and not by a subtest.
func ReadOnly(t *testing.T, prepare, test func(t *testing.T, dir string)) {
	t.Helper()
	if child(t) {
		powerless(t)
		test(t, flag.Arg(2))
		return
	}
	dir := t.TempDir()
	prepare(t, dir)
	closed(t, dir)
	start(t, dir, 0)
}

// child reports whether this process is the one that has been started for the test.
func child(t *testing.T) bool {
	t.Helper()
	switch {
	case flag.NArg() == 0:
		return false
	case flag.Arg(0) != role || flag.Arg(1) != t.Name() || flag.NArg() != 4:
		t.Fatalf("the arguments are %q", flag.Args())
	}
	return true
}

// start runs the test once more.
func start(t *testing.T, dir string, limit int64) {
	t.Helper()
	available(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s",
		role, t.Name(), dir, strconv.FormatInt(limit, 10))
	cmd.Env = environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// environ is the environment of such a process. The race detector would have it wait for a
// second before it ends.
func environ() []string { return append(os.Environ(), "GORACE=atexit_sleep_ms=0") }
