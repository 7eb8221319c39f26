//go:build unix

package mirrordir_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// TestSwappedForPipe puts a pipe where a file of the mirror is about to be opened.
func TestSwappedForPipe(t *testing.T) {
	t.Parallel()
	for _, err := range disktest.Swapped(t, "content", func(path string) error {
		d := &mirrordir.Directory{Path: filepath.Dir(path)}
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

// TestSocket has a socket where a file is wanted.
func TestSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &mirrordir.Directory{Path: dir}
	if _, err := d.Open(t.Context(), "s"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}
}
