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

// leftAfter is the age from which an unfinished file is nobody's any more.
const leftAfter = time.Hour

// Prune removes the hashes of archives that were last used before a time, and what
// processes that were killed have left behind. It returns how many archives that were. A
// use is recorded to the day, so a hundred days ago is a better choice than yesterday.
// Files of other origin are left alone.
//
// A file has some 200 bytes, so a store of ten thousand archives is small.
func (d *Dir) Prune(ctx context.Context, before time.Time) (removed int, err error) {
	if d.Path == "" {
		return 0, errNoPath
	}
	groups, err := os.ReadDir(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("prune stored hashes: %w", err)
	}
	var errs []error
	for _, group := range groups {
		if !isHex(group.Name(), 1) || !group.IsDir() {
			continue
		}
		n, err := pruneGroup(ctx, filepath.Join(d.Path, group.Name()), before)
		removed += n
		if err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("prune stored hashes: %w", err)
	}
	return removed, nil
}

// pruneGroup prunes one directory.
func pruneGroup(ctx context.Context, dir string, before time.Time) (removed int, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	left := time.Now().Add(-leftAfter)
	for _, file := range files {
		if ctx.Err() != nil {
			return removed, ctx.Err()
		}
		entry := isHex(file.Name(), 32) && strings.HasPrefix(file.Name(), filepath.Base(dir))
		limit := left
		if entry {
			limit = before
		} else if !strings.HasPrefix(file.Name(), fsx.TempPrefix) {
			continue
		}
		info, err := file.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || !info.ModTime().Before(limit)) {
			continue
		}
		if err == nil {
			err = os.Remove(filepath.Join(dir, file.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		if entry && err == nil {
			removed++
		}
	}
	return removed, nil
}

// isHex reports whether name is n bytes in lower-case hex.
func isHex(name string, n int) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == 2*n && name == strings.ToLower(name)
}
