package hashstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
)

// Prune removes the hashes of archives that were last used before a time, and temporary files of
// killed processes. It returns the number of archives whose hashes it removed, and ignores
// other files. The last use is recorded to the day. A file has about 200 bytes.
func (d *Dir) Prune(ctx context.Context, before time.Time) (removed int, err error) {
	if d.Path == "" {
		return 0, errNoPath
	}
	fsx.SweepParts(ctx, d.Path)
	files, err := os.ReadDir(d.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("prune stored hashes: %w", err)
	}
	for _, file := range files {
		if ctx.Err() != nil {
			return removed, fmt.Errorf("prune stored hashes: %w", ctx.Err())
		}
		gone, err := d.prune(file, before)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("prune stored hashes: %w", err)
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

// prune removes a file that was last used before a time.
func (d *Dir) prune(file fs.DirEntry, before time.Time) (removed bool, err error) {
	_, notHex := hex.DecodeString(file.Name())
	if notHex != nil || len(file.Name()) != 64 || file.Name() != strings.ToLower(file.Name()) {
		return false, nil
	}
	info, err := file.Info()
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
		return false, err
	}
	err = os.Remove(filepath.Join(d.Path, file.Name()))
	return err == nil, err
}
