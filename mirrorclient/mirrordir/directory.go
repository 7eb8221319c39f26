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

// Directory is the [Storage] for a local directory. Several processes may use it concurrently. It never
// follows a symbolic link out of Path. The directory ".tofureg" at the top has lock files and
// unfinished files.
type Directory struct {
	// Path is an existing directory, or a symbolic link to one.
	Path string
}

var (
	_ Local  = (*Directory)(nil)
	_ Locker = (*Directory)(nil)
)

// privateDir is the directory for files that are not part of the mirror. The CLI ignores it because of
// the dot.
const privateDir = ".tofureg"

// Open opens a file. It follows symbolic links within the mirror.
func (d *Directory) Open(ctx context.Context, name string) (*Object, error) {
	root, file, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openObject(root, file)
}

// root opens the directory and checks a name.
func (d *Directory) root(ctx context.Context, name string) (*os.Root, string, error) {
	if ctx.Err() != nil {
		return nil, "", fault.Ended(ctx)
	}
	if err := checkName(name); err != nil {
		return nil, "", err
	}
	if err := checkFileName(name, runtime.GOOS); err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(d.Path)
	return root, filepath.FromSlash(name), err
}

// openObject opens a file. It reads small files completely: the revision of a document is a digest of
// its content.
func openObject(root *os.Root, name string) (*Object, error) {
	f, err := fsx.OpenIn(root, name)
	if isMissing(err) {
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
		err = fmt.Errorf("%s has grown while it was read", name)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return &Object{memoryFile{bytes.NewReader(content)}, int64(len(content)), Revision(hex.EncodeToString(sum[:]))}, nil
}

// maxSmall is the maximum size in bytes of a file other than a document whose revision is a digest.
// The revision of a larger file, an archive, which is never overwritten, is its size and time.
const maxSmall = 1 << 20

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

// isMissing reports whether err means that no file has the name. Systems return the last two errors
// for a socket.
func isMissing(err error) bool {
	for _, none := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.ENXIO, syscall.EOPNOTSUPP} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// List returns the files and directories in dir, and symbolic links to files of the mirror. It follows
// a link to a directory only in place of an unpacked package, also out of the mirror.
func (d *Directory) List(ctx context.Context, dir string) ([]Entry, error) {
	name := dir
	if dir == "." {
		name = "top" // a valid name
	}
	root, _, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	here, err := root.OpenRoot(filepath.FromSlash(dir))
	if dir != "." && isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer here.Close()
	names, err := fs.ReadDir(fsx.Tree(ctx, here), ".")
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, n := range names {
		if dir == "." && strings.EqualFold(n.Name(), privateDir) {
			continue
		}
		if ctx.Err() != nil {
			return nil, fault.Ended(ctx)
		}
		stat := here.Lstat
		if n.Type()&fs.ModeSymlink != 0 {
			stat = func(name string) (fs.FileInfo, error) { return d.statLink(root, dir, name) }
		}
		if info, err := stat(n.Name()); err != nil {
			continue // removed since, or an ignored link
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

// statLink returns the target of a link in a directory if the link is listed.
func (d *Directory) statLink(root *os.Root, dir, name string) (fs.FileInfo, error) {
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
	return filepath.Join(d.Path, filepath.FromSlash(name)), checkFileName(name, runtime.GOOS)
}

// checkFileName returns an error if files cannot have this name on a system.
func checkFileName(name, goos string) error {
	top, _, _ := strings.Cut(name, "/")
	switch {
	case strings.EqualFold(strings.TrimRight(top, ". "), privateDir): // the same name on macOS and Windows
		return fmt.Errorf("directory %q is not part of the mirror: %w", privateDir, fs.ErrInvalid)
	case goos == "windows" && strings.Contains(name, ":"):
		return fmt.Errorf("%w: Windows does not support the colon in %q; keep providers of a host with a port on another system or in an object store", ErrName, top)
	case goos == "windows" && strings.Contains(name, `\`):
		return fmt.Errorf("%w: Windows does not support a backslash in a file name", ErrName)
	}
	return nil
}

// ErrName means that the system does not support a file name, such as one with a colon on Windows.
var ErrName = errors.New("unsupported file name")
