package install_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestReplacesAtOnce: while a package is replaced repeatedly, it never disappears.
func TestReplacesAtOnce(t *testing.T) {
	t.Parallel()
	if !exchanges(t) {
		t.Skip("skipped: the file system cannot exchange names")
	}
	from := newOffer(t, regtest.Provider{}).install(t, newDir(t), install.Options{})
	d := newDir(t)
	pkg, err := d.Place(t.Context(), from, true)
	must(t, err)
	done := make(chan error)
	go func() {
		done <- func() error {
			for range 50 {
				if err := os.WriteFile(filepath.Join(pkg.Dir, "more"), nil, 0o644); err != nil {
					return err
				}
				if _, err := d.Place(t.Context(), from, true); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	missing := 0
	for {
		if _, err := os.Lstat(pkg.Dir); errors.Is(err, fs.ErrNotExist) {
			missing++
		}
		select {
		case err := <-done:
			if err != nil || missing > 0 {
				t.Errorf("%d times there was nothing; %v", missing, err)
			}
			return
		default:
		}
	}
}

// exchanges reports whether the file system can exchange two directories.
func exchanges(t *testing.T) bool {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, name := range []string{a, b} {
		must(t, os.Mkdir(name, 0o755))
	}
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) == nil
}
