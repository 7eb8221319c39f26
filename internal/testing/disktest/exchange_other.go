//go:build !linux

package disktest

import (
	"runtime"
	"testing"
)

// SkipWithoutExchange skips the test if the system cannot exchange two names.
func SkipWithoutExchange(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "darwin" {
		t.Skip("skipped: the file system cannot exchange two names")
	}
}
