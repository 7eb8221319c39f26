package disktest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// SkipWithoutExchange skips the test if the file system cannot exchange two names. Then there is a
// moment without a directory when it is replaced.
func SkipWithoutExchange(t *testing.T) {
	t.Helper()
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, name := range []string{a, b} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) != nil {
		t.Skip("skipped: the file system cannot exchange two names")
	}
}
