//go:build !linux

package module_test

import (
	"runtime"
	"testing"
)

func exchanges(*testing.T) bool { return runtime.GOOS == "darwin" }
