package hashstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ErrDamaged: a file of the store is not what was written there.
var ErrDamaged = errors.New("damaged entry")

var errNoPath = errors.New("hashstore: Dir has no Path")

const (
	maxFile   = 16 << 10 // bytes
	maxHashes = 16       // of one archive; there are two today
)

// A Dir is a [provider.HashStore] in a directory. It is safe for concurrent use, also by
// several processes.
type Dir struct {
	// Path of the directory. It is made when the first hashes are stored.
	Path string
}

var _ provider.HashStore = (*Dir)(nil)

// Hashes returns the hashes that are kept for the archive with this zh, sorted; nil if
// none are. The error wraps [ErrDamaged] if there is something else than StoreHashes has
// written. The next StoreHashes replaces it if it is a file, or a symbolic link, and fails if
// it is a directory or anything else.
func (d *Dir) Hashes(ctx context.Context, zh checksum.Hash) ([]checksum.Hash, error) {
	path, err := d.file(ctx, zh)
	if err != nil {
		return nil, err
	}
	hashes, err := read(path, zh)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read stored hashes: %w", err)
	}
	touch(path)
	return hashes, nil
}

// StoreHashes keeps hashes for the archive with this zh, in place of what is kept for it.
// There must be 1 to 16 of them, of schemes other than zh. The file appears whole or not at
// all, whenever the process dies.
func (d *Dir) StoreHashes(ctx context.Context, zh checksum.Hash, hashes []checksum.Hash) error {
	path, err := d.file(ctx, zh)
	if err != nil {
		return err
	}
	text, err := encode(zh, hashes)
	if err != nil {
		return fmt.Errorf("store hashes of %s: %w", zh, err)
	}
	if err := write(path, text); err != nil {
		return fmt.Errorf("store hashes: %w", err)
	}
	return nil
}

func write(path string, text []byte) error {
	if old, err := load(path); err == nil && string(old) == string(text) {
		touch(path)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return fsx.WriteFile(path, text, 0o644)
}

// file returns the name of the file for an archive.
func (d *Dir) file(ctx context.Context, zh checksum.Hash) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case d.Path == "":
		return "", errNoPath
	case zh.Scheme() != checksum.SchemeZH:
		return "", fmt.Errorf("hashstore: %q is no hash of an archive", zh)
	}
	return filepath.Join(d.Path, zh.Value()), nil
}

// encode returns the content of a file: the zh, the hashes, one a line, and the SHA-256 of
// these lines.
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
			return nil, fmt.Errorf("%q is no hash of content", h)
		}
		text += h.String() + "\n"
	}
	return fmt.Appendf([]byte(text), "sha256 %x\n", sha256.Sum256([]byte(text))), nil
}

func read(path string, zh checksum.Hash) ([]checksum.Hash, error) {
	text, err := load(path)
	if err != nil {
		return nil, err
	}
	hashes, err := decode(zh, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	return hashes, nil
}

// decode accepts exactly what encode returns.
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
		return nil, errors.New("it is of another archive, or its checksum is wrong")
	}
	return hashes, nil
}

// load reads a file that may be anything.
func load(path string) ([]byte, error) {
	f, err := fsx.OpenRegular(path)
	if errors.Is(err, fsx.ErrNotAFile) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: %w: more than %d bytes", path, ErrDamaged, maxFile)
	}
	return text, err
}

// touch records the day of the last use, for Prune. A file that cannot be touched, as in
// a directory that is only to be read, is pruned too early by those who can.
func touch(path string) {
	const day = 24 * time.Hour
	now := time.Now()
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > day {
		_ = os.Chtimes(path, time.Time{}, now)
	}
}
