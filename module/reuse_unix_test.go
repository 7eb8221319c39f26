//go:build unix

package module_test

import (
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/module"
)

// TestReuseSwappedForPipe puts a pipe where a file of the package is about to be hashed. What
// then is not there any more is not fetched either, so an error is all there can be.
func TestReuseSwappedForPipe(t *testing.T) {
	t.Parallel()
	o := module.Options{Replace: true, H1: h1(t, files{"path": "content"})}
	loc := at(t, archiveURL+".zip")
	reused := 0
	disktest.Swapped(t, "content", func(path string) error {
		report, err := module.DownloadLocation(t.Context(), serve(nil), loc, filepath.Dir(path), o)
		if err == nil && report.Reused {
			reused++
		}
		return err
	})
	if reused == 0 {
		t.Error("the package was never found")
	}
}
