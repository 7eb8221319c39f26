//go:build unix

package hashstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/provider/hashstore"
)

// TestPipe: a pipe in the place of a file does not block.
func TestPipe(t *testing.T) {
	t.Parallel()
	d := store(t)
	must.Do(t, os.MkdirAll(filepath.Dir(fileOf(d, zh1)), 0o755))
	if err := disktest.Mkfifo(fileOf(d, zh1)); err != nil {
		t.Skipf("skipped: pipes cannot be made here: %v", err)
	}
	if got, err := d.Hashes(t.Context(), zh1); got != nil || !errors.Is(err, hashstore.ErrDamaged) {
		t.Errorf("%v, %v", got, err)
	}
}
