//go:build unix

package mirrordir_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestSwappedForPipe replaces a file by a pipe before it is opened.
func TestSwappedForPipe(t *testing.T) {
	t.Parallel()
	for _, err := range disktest.Swapped(t, "content", func(path string) error {
		d := open(t, filepath.Dir(path)).Store
		o, err := d.Open(t.Context(), filepath.Base(path))
		if err == nil {
			err = o.Close()
		}
		return err
	}) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v, want ErrNotExist", err)
		}
	}
}

// TestSocket uses a socket in place of a file.
func TestSocket(t *testing.T) {
	t.Parallel()
	dir := must.Get(os.MkdirTemp("", "s"))(t) // the path of a socket must be short
	defer os.RemoveAll(dir)
	l := must.Get(net.Listen("unix", filepath.Join(dir, "s")))(t)
	defer l.Close()
	d := open(t, dir).Store
	if _, err := d.Open(t.Context(), "s"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}
}
