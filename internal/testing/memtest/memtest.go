// Package memtest puts the temporary directories of tests in memory. It is for packages whose tests create many files and
// do not test the disk.
package memtest

import (
	"fmt"
	"os"
	"testing"
)

// disk is the directory for temporary directories before Main changed it.
var disk string

// Main runs the tests of a package with temporary directories in memory, if the system has a place for them that is
// executable and has at least 1 GiB left, and the environment names no other place. Call it in TestMain.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	disk = os.TempDir()
	if os.Getenv("TMPDIR") == "" {
		if dir, ok := inMemory(); ok {
			defer func() {
				if err := os.RemoveAll(dir); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}()
			os.Setenv("TMPDIR", dir)
		}
	}
	return m.Run()
}

// OnDisk returns a new directory where the temporary directories were before Main, for a test whose point is the disk.
func OnDisk(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(disk, "tofureg-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
