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

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// Directory is the [Storage] of a local directory, which other processes may use at the
// same time.
//
// Directory reads and writes through an [os.Root]: it never follows a symbolic link out of
// Path. Path itself may be a link.
//
// A file is written in the directory ".tofureg" at the top, synced, and renamed: nothing
// incomplete ever has a name in the mirror. Locks are there too. What a process that was
// killed leaves there is removed when the mirror is written to again.
type Directory struct {
	// Path is the directory, which must exist.
	Path string
}

var (
	_ Local  = (*Directory)(nil)
	_ Locker = (*Directory)(nil)
)

// private is the directory for what is not yet part of the mirror. The dot keeps it out
// of the CLI's scan.
const private = ".tofureg"

// Open opens a file. A symbolic link within the mirror is followed.
func (d *Directory) Open(ctx context.Context, name string) (*Object, error) {
	root, file, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openObject(root, file)
}

// root opens the directory and returns a name as it is there.
func (d *Directory) root(ctx context.Context, name string) (*os.Root, string, error) {
	if ctx.Err() != nil {
		return nil, "", fault.Ended(ctx)
	}
	if err := checkName(name); err != nil {
		return nil, "", err
	}
	if err := nameable(name, runtime.GOOS); err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(d.Path)
	return root, filepath.FromSlash(name), err
}

// openObject reads small files at once: they are the documents, whose revision is their
// content.
func openObject(root *os.Root, name string) (*Object, error) {
	f, err := fsx.OpenIn(root, name)
	if leadsNowhere(err) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	limit := int64(maxSmall)
	if strings.HasSuffix(name, ".json") {
		limit = maxDocument
	}
	if info.Size() > limit {
		return &Object{f, info.Size(), Revision(fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano()))}, nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s grows while it is read", name)
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

// leadsNowhere reports whether err says that there is no file of a name. The last two are
// what systems say of a socket.
func leadsNowhere(err error) bool {
	for _, none := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.ENXIO, syscall.EOPNOTSUPP} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// List returns the names in a directory. A symbolic link to a file of the mirror counts as
// that file. A link to a directory is left out, as in the CLI, except where the CLI looks
// for an unpacked package: there it may lead anywhere. All other links are left out.
func (d *Directory) List(ctx context.Context, dir string) ([]Entry, error) {
	name := dir
	if dir == "." {
		name = "top" // any that can be checked
	}
	root, _, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	here, err := root.OpenRoot(filepath.FromSlash(dir))
	if dir != "." && leadsNowhere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer here.Close()
	names, err := fs.ReadDir(here.FS(), ".")
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, n := range names {
		if dir == "." && strings.EqualFold(n.Name(), private) {
			continue
		}
		if ctx.Err() != nil {
			return nil, fault.Ended(ctx)
		}
		stat := here.Lstat
		if n.Type()&fs.ModeSymlink != 0 {
			stat = func(name string) (fs.FileInfo, error) { return d.follow(root, dir, name) }
		}
		if info, err := stat(n.Name()); err != nil {
			continue // removed by now, or a link that does not count
		} else if info.IsDir() || info.Mode().IsRegular() {
			e := Entry{Name: n.Name(), Dir: info.IsDir()}
			if !e.Dir {
				e.Size = info.Size()
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// follow returns what a link in a directory counts as.
func (d *Directory) follow(root *os.Root, dir, name string) (fs.FileInfo, error) {
	name = filepath.Join(filepath.FromSlash(dir), name)
	if strings.Count(dir, "/") == 3 { // HOST/NAMESPACE/TYPE/VERSION
		return os.Stat(filepath.Join(d.Path, name))
	}
	info, err := root.Stat(name)
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	return info, err
}

// LocalPath implements [Local].
func (d *Directory) LocalPath(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return filepath.Join(d.Path, filepath.FromSlash(name)), nameable(name, runtime.GOOS)
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
