//go:build unix && !386 && !arm

package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestPlaceHasNoLimits: a verified package is placed whatever its size. A sparse file exceeds the
// default limit; it is not copied. On 32-bit systems os.Root opens no file of 2 GiB.
func TestPlaceHasNoLimits(t *testing.T) {
	t.Parallel()
	from := &install.Installed{
		Package: install.Package{Provider: alpha, Version: v1, Platform: linux, Dir: t.TempDir()},
		Report:  &verify.Report{Local: []checksum.Hash{checksum.MustParseHash("h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")}},
	}
	large := write(t, from.Dir, program, "")
	if err := os.Truncate(large, checksum.Limits{}.Effective().Unpacked+1); err != nil {
		t.Skipf("skipped: no such large file can be made: %v", err)
	}
	d := newDir(t)
	ctx := endsWhen{t.Context(), func() bool {
		found, _ := filepath.Glob(staged(d, program))
		return len(found) > 0
	}}
	if _, err := d.Place(ctx, from, true); !errors.Is(err, context.Canceled) {
		t.Errorf("Place returned %v, want %v", err, context.Canceled)
	}
}
