package hashstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

var (
	errNoPath  = errors.New("hashstore: Dir.Path is empty")
	errDamaged = errors.New("damaged entry")
)

const (
	maxFile   = 16 << 10 // bytes
	maxHashes = 16       // of one archive; there are at most two today
)

// Dir is a [provider.HashStore] in a directory, with a file of about 200 bytes for each archive. It is safe for
// concurrent use, also by several processes.
type Dir struct {
	Path string // required; StoreHashes creates it
}

var _ provider.HashStore = (*Dir)(nil)

// Hashes returns the stored hashes of the archive, sorted, or nil. An invalid file is an error. The next StoreHashes
// replaces an invalid file or symbolic link, but not a directory.
func (d *Dir) Hashes(ctx context.Context, zh checksum.Hash) ([]checksum.Hash, error) {
	path, err := d.file(ctx, zh)
	if err != nil {
		return nil, err
	}
	text, err := load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read stored hashes: %w", err)
	}
	hashes, err := decode(zh, text)
	if err != nil {
		return nil, fmt.Errorf("read stored hashes: %s: %w: %w", path, errDamaged, err)
	}
	touch(path)
	return hashes, nil
}

// StoreHashes atomically replaces the stored hashes of the archive: 1 to 16, of schemes other than zh.
func (d *Dir) StoreHashes(ctx context.Context, zh checksum.Hash, hashes []checksum.Hash) error {
	path, err := d.file(ctx, zh)
	if err != nil {
		return err
	}
	text, err := encode(zh, hashes)
	if err != nil {
		return fmt.Errorf("store hashes of %s: %w", zh, err)
	}
	if old, err := load(path); err == nil && string(old) == string(text) {
		touch(path)
		return nil
	}
	if err = os.MkdirAll(d.Path, 0o755); err == nil {
		err = fsx.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("store hashes: %w", err)
	}
	return nil
}

// file returns the path of the file for an archive.
func (d *Dir) file(ctx context.Context, zh checksum.Hash) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case d.Path == "":
		return "", errNoPath
	case zh.Scheme() != checksum.SchemeZH:
		return "", fmt.Errorf("hashstore: %q is not a zh hash", zh)
	}
	return filepath.Join(d.Path, zh.Value()), nil
}

// encode returns the content of a file: the zh, the hashes, one on each line, and the SHA-256
// of these lines.
func encode(zh checksum.Hash, hashes []checksum.Hash) ([]byte, error) {
	hashes = slices.Clone(hashes)
	slices.SortFunc(hashes, checksum.Hash.Compare)
	hashes = slices.Compact(hashes)
	if len(hashes) == 0 || len(hashes) > maxHashes {
		return nil, fmt.Errorf("%d hashes, 1 to %d are allowed", len(hashes), maxHashes)
	}
	text := zh.String() + "\n"
	for _, h := range hashes {
		if h.IsZero() || h.Scheme() == checksum.SchemeZH {
			return nil, fmt.Errorf("%q is not a hash of the content", h)
		}
		text += h.String() + "\n"
	}
	return fmt.Appendf([]byte(text), "sha256 %x\n", sha256.Sum256([]byte(text))), nil
}

// decode accepts only what encode returns.
func decode(zh checksum.Hash, text []byte) ([]checksum.Hash, error) {
	lines := strings.Split(string(text), "\n")
	if len(lines) < 4 || len(lines) > maxHashes+3 {
		return nil, fmt.Errorf("it has %d lines", len(lines))
	}
	var hashes []checksum.Hash
	for _, line := range lines[1 : len(lines)-2] {
		h, err := checksum.ParseHash(line)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	want, err := encode(zh, hashes)
	if err != nil {
		return nil, err
	}
	if string(want) != string(text) {
		return nil, errors.New("it is for another archive, or its checksum is wrong")
	}
	return hashes, nil
}

// load reads a file. One that is too large, or not a regular file, is damaged.
func load(path string) ([]byte, error) {
	text, err := fsx.ReadRegular(path, maxFile)
	if errors.Is(err, fsx.ErrNotAFile) || errors.Is(err, failure.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return text, err
}

// touch records the day of the last use, for Prune. In a read-only directory it has no
// effect.
func touch(path string) {
	const day = 24 * time.Hour
	now := time.Now()
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > day {
		_ = os.Chtimes(path, time.Time{}, now)
	}
}

// Prune removes the hashes of archives that were last used before a time, and temporary files of killed processes. It
// returns the number of archives. The recorded time can be a day too early.
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
		name := file.Name()
		if _, err := hex.DecodeString(name); err != nil || len(name) != 64 || name != strings.ToLower(name) {
			continue
		}
		info, err := file.Info()
		if err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			if err = os.Remove(filepath.Join(d.Path, name)); err == nil {
				removed++
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("prune stored hashes: %w", err)
		}
	}
	return removed, nil
}
