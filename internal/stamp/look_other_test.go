//go:build !linux

package stamp_test

import (
	"os"
	"testing"

	"github.com/tofureg/tofureg/internal/stamp"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestNothingIsKnown: each call reads the files.
func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	var m stamp.Memory
	for range 2 {
		if _, at, err := m.Hash(t.Context(), root, t.TempDir(), checksum.H1Dir); err != nil || !at.IsZero() {
			t.Errorf("Hash returned the time %v and the error %v, want none", at, err)
		}
	}
}
