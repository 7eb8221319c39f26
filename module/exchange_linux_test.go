package module_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// skipWithoutExchange skips the test if the file system cannot exchange two names: then there
// is a moment without a package.
func skipWithoutExchange(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"a/": "", "b/": ""})
	if unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "a"), unix.AT_FDCWD, filepath.Join(dir, "b"), unix.RENAME_EXCHANGE) != nil {
		t.Skip("skipped: the file system cannot exchange two names")
	}
}
