//go:build unix

package provider_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestHashesSwappedForPipe replaces a file by a pipe while an unpacked package is hashed.
func TestHashesSwappedForPipe(t *testing.T) {
	t.Parallel()
	o := provider.HashOptions{Policy: verify.Policy{AllowUnchecked: true}}
	for _, err := range disktest.Swapped(t, "program", func(path string) error {
		src := &lister{Opener: serve(nil), find: func(platform addrs.Platform) (*provider.Package, error) {
			return &provider.Package{Provider: demo, Version: v123, Platform: platform, Dir: filepath.Dir(path)}, nil
		}}
		_, err := provider.Hashes(t.Context(), src, demo, v123, platforms("linux_amd64"), o)
		return err
	}) {
		if !errors.Is(err, checksum.ErrIrregular) {
			t.Errorf("%v, want ErrIrregular", err)
		}
	}
}
