package mirrordir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/tofureg/tofureg/internal/fsx"
)

// Directory is the [Storage] of a local directory, which other processes may use at the
// same time.
//
// A file is written in the directory ".tofureg" at the top, synced, and renamed: nothing
// incomplete ever has a name in the mirror. Locks are there too. What a process that was
// killed leaves there is removed when the mirror is written to again.
//
// A [Mirror] gives archives their names in a Directory without calling Write, also in a type
// that embeds one.
type Directory struct {
	// Path is the directory, which must exist.
	Path string
}

var (
	_ Storage = (*Directory)(nil)
	_ Locker  = (*Directory)(nil)
)

// private is the directory for what is not yet part of the mirror. The dot keeps it out
// of the CLI's scan.
const private = ".tofureg"

// Open opens a file. A symbolic link is followed.
func (d *Directory) Open(ctx context.Context, name string) (*Object, error) {
	path, err := d.path(ctx, name)
	if err != nil {
		return nil, err
	}
	return openObject(path)
}

// openObject reads small files at once: they are the documents, whose revision is their
// content.
func openObject(path string) (*Object, error) {
	f, err := fsx.OpenRegular(path)
	// The last two are what systems say of a socket.
	for _, none := range []error{fsx.ErrNotAFile, syscall.ENOTDIR, syscall.ELOOP, syscall.ENXIO, syscall.EOPNOTSUPP} {
		if errors.Is(err, none) {
			err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	limit := int64(maxSmall)
	if strings.HasSuffix(path, ".json") {
		limit = maxDocument
	}
	if info.Size() > limit {
		return &Object{f, info.Size(), Revision(fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano()))}, nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s grows while it is read", path)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return &Object{small{bytes.NewReader(content)}, int64(len(content)), Revision(hex.EncodeToString(sum[:]))}, nil
}

// maxSmall is the size in bytes up to which a file that is no document is told from another
// one by its content. For larger ones, archives which are never written over, size and time
// will do.
const maxSmall = 1 << 20

type small struct{ *bytes.Reader }

func (small) Close() error { return nil }

// List returns the names in a directory. Symbolic links count as what they point to;
// those that point nowhere, be it in a circle, are left out.
func (d *Directory) List(ctx context.Context, dir string) ([]Entry, error) {
	path := d.Path
	if dir != "." {
		var err error
		if path, err = d.path(ctx, dir); err != nil {
			return nil, err
		}
	}
	names, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) && dir != "." {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, n := range names {
		if n.Name() == private && dir == "." {
			continue
		}
		info, err := n.Info()
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = os.Stat(filepath.Join(path, n.Name()))
		}
		switch {
		case leadsNowhere(err): // or it was removed by now
		case err != nil:
			return nil, err
		case info.IsDir():
			entries = append(entries, Entry{Name: n.Name(), Dir: true})
		case info.Mode().IsRegular():
			entries = append(entries, Entry{Name: n.Name(), Size: info.Size()})
		}
	}
	return entries, ctx.Err()
}

// leadsNowhere reports whether err says that there is nothing where a name leads, and not only
// that nobody may look.
func leadsNowhere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENAMETOOLONG)
}

// size returns the size of a file, less than zero if there is none. It is what Open returns,
// without reading small files.
func (d *Directory) size(ctx context.Context, name string) (int64, error) {
	path, err := d.path(ctx, name)
	if errors.Is(err, ErrName) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return -1, nil
	case err != nil:
		return -1, err
	case !info.Mode().IsRegular():
		return -1, nil
	}
	return info.Size(), nil
}

// path returns where a file is. It refuses names that this system does not have.
func (d *Directory) path(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", context.Cause(ctx)
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	if err := nameable(name, runtime.GOOS); err != nil {
		return "", err
	}
	return filepath.Join(d.Path, filepath.FromSlash(name)), nil
}

// nameable tells whether files can have this name on a system.
func nameable(name, goos string) error {
	top, _, _ := strings.Cut(name, "/")
	switch {
	case strings.EqualFold(strings.TrimRight(top, ". "), private): // macOS and Windows take these for one name
		return fmt.Errorf("%q is not a part of the mirror: %w", private, fs.ErrInvalid)
	case goos == "windows" && strings.Contains(name, ":"):
		return fmt.Errorf("%w: file names on Windows cannot hold the colon of %q; keep providers of a host with a port on another system, or in an object store", ErrName, top)
	case goos == "windows" && strings.Contains(name, `\`):
		return fmt.Errorf("%w: file names on Windows cannot hold a backslash", ErrName)
	}
	return nil
}

// ErrName: the file system has no such names. Windows has no colons in names, and so no
// directories for hosts with a port.
var ErrName = errors.New("not a file name on this system")
