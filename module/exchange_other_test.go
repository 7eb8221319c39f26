//go:build !linux

package module_test

import (
	"runtime"
	"testing"
)

func skipWithoutExchange(t *testing.T) {
	if runtime.GOOS != "darwin" {
		t.Skip("skipped: the file system cannot exchange two names")
	}
}
