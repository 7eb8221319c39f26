package storage

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

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

var (
	_ Locker = (*Dir)(nil)
	_ Stager = (*Dir)(nil)
	_ Pather = (*Dir)(nil)
)

// Dir is the Store for a local directory. It follows symbolic links within the directory, and out of it where
// Links permits them. ".tofureg" is not part of the store: it has lock files and unfinished files.
//
// A revision is a digest of the content, but size and time for an archive, by its suffix, and over 16 MiB.
type Dir struct {
	Path string // must exist

	// Links, if not nil, reports whether List shows symbolic links in dir to directories and out of Path. If nil,
	// List shows none of them.
	Links func(dir string) bool
}

// privateDir is the directory for files that are not part of the store. The CLI ignores it because of
// the dot.
const privateDir = ".tofureg"

// FilePath implements [Pather].
func (d *Dir) FilePath(name string) (string, error) {
	if err := checkFileName(name, runtime.GOOS); err != nil {
		return "", err
	}
	return filepath.Join(d.Path, filepath.FromSlash(name)), nil
}

// Stat implements [Store].
func (d *Dir) Stat(ctx context.Context, name string) (Info, error) {
	f, err := d.Open(ctx, name)
	if err != nil {
		return Info{}, err
	}
	return f.Info, f.Close()
}

// Open implements [Store].
func (d *Dir) Open(ctx context.Context, name string) (*File, error) {
	root, file, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openFile(root, file)
}

// root opens the directory and checks a name.
func (d *Dir) root(ctx context.Context, name string) (*os.Root, string, error) {
	if ctx.Err() != nil {
		return nil, "", fault.Ended(ctx)
	}
	if err := checkFileName(name, runtime.GOOS); err != nil {
		return nil, "", err
	}
	root, err := fsx.OpenRoot(d.Path)
	return root, filepath.FromSlash(name), err
}

// openFile opens a file. It reads a file whose revision is a digest completely.
func openFile(root *os.Root, name string) (*File, error) {
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
	if isArchive(name) || info.Size() > maxDigested {
		return &File{f, Info{info.Size(), Revision(fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano()))}}, nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDigested+1))
	if err == nil && int64(len(data)) > maxDigested {
		err = fmt.Errorf("%s has grown while it was read", name)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &File{content{bytes.NewReader(data)}, Info{int64(len(data)), Revision(hex.EncodeToString(sum[:]))}}, nil
}

// maxDigested is the maximum size in bytes of a file whose revision is a digest. Documents are smaller.
const maxDigested = 16 << 20

// isArchive reports whether the revision of a file is its size and time, because hashing takes too long.
// Writers replace archives seldom and never twice in a tick of the clock.
func isArchive(name string) bool {
	switch filepath.Ext(name) {
	case ".zip", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".tbz2":
		return true
	}
	return false
}

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

// List shows symbolic links to files within the directory.
func (d *Dir) List(ctx context.Context, dir string) ([]Entry, error) {
	name := dir
	if dir == "." {
		name = "top" // a valid name
	}
	root, _, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	here, err := fsx.OpenRootIn(root, filepath.FromSlash(dir))
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
		info, err := stat(n.Name())
		switch {
		case err != nil: // removed since, or an ignored link
		case info.IsDir():
			entries = append(entries, Entry{Name: n.Name(), IsDir: true})
		case info.Mode().IsRegular():
			entries = append(entries, Entry{Name: n.Name(), Size: info.Size()})
		}
	}
	return entries, nil
}

// statLink returns the target of a link in the directory dir if List shows the link.
func (d *Dir) statLink(root *os.Root, dir, name string) (fs.FileInfo, error) {
	name = filepath.Join(filepath.FromSlash(dir), name)
	if d.Links != nil && d.Links(dir) {
		return os.Stat(filepath.Join(d.Path, name))
	}
	info, err := root.Stat(name)
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	return info, err
}

// Write implements [Store].
func (d *Dir) Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error {
	if err := checkNewName(name); err != nil {
		return err
	}
	s, err := d.Stage(ctx)
	if err != nil {
		return err
	}
	defer s.Discard()
	if _, err := io.Copy(s.File, archive.Until(ctx, io.NewSectionReader(content, 0, content.Size()))); err != nil {
		return err
	}
	return s.Commit(ctx, name, was)
}

// Stage implements [Stager].
func (d *Dir) Stage(ctx context.Context) (*Staged, error) {
	root, _, err := d.root(ctx, "top") // any valid name
	if err != nil {
		return nil, err
	}
	var part *fsx.Part
	if err = makePrivate(root); err == nil {
		part, err = fsx.CreatePartIn(root, privateDir, 0o644)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	commit := func(ctx context.Context, name string, was Revision) error { return commit(ctx, root, part, name, was) }
	discard := func() {
		part.Discard()
		root.Close()
	}
	return NewStaged(part.File, commit, discard), nil
}

// commit syncs a part and gives it a name, on the condition of Write of [Store].
func commit(ctx context.Context, root *os.Root, part *fsx.Part, name string, was Revision) error {
	if err := checkNewName(name); err != nil {
		return err
	}
	if err := part.Sync(); err != nil {
		return err
	}
	lock, err := lockFile(ctx, root, changeLock)
	if err != nil {
		return err
	}
	defer lock.Release()
	file := filepath.FromSlash(name)
	if err := unchanged(root, file, was); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := mkdir(ctx, root, filepath.Dir(file)); err != nil {
		return err
	}
	if err := part.PublishAs(file); err != nil {
		return err
	}
	return fsx.SyncDirIn(root, filepath.Dir(file))
}

// content is the content of a file that was read completely.
type content struct{ *bytes.Reader }

// Close implements io.Closer.
func (content) Close() error { return nil }

// Delete also removes directories that become empty.
func (d *Dir) Delete(ctx context.Context, name string) error {
	root, file, err := d.root(ctx, name)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := lockFile(ctx, root, changeLock)
	if err != nil {
		return err
	}
	defer lock.Release()
	info, err := root.Lstat(file)
	if isMissing(err) || err == nil && info.IsDir() {
		return nil // without a file of this name
	}
	if err == nil {
		err = root.Remove(file)
	}
	if err != nil {
		return err
	}
	dir := filepath.Dir(file)
	for ; dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() || root.Remove(dir) != nil {
			break
		}
	}
	return fsx.SyncDirIn(root, dir)
}

// unchanged returns ErrConflict unless the file has the revision was.
func unchanged(root *os.Root, name string, was Revision) error {
	now := Revision("")
	o, err := openFile(root, name)
	switch {
	case err == nil:
		now = o.Revision
		o.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		// There may be a directory, or a link without a target.
		if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%w: the name belongs to something that is not a file", ErrConflict))
		}
	}
	if now != was {
		return ErrConflict
	}
	return nil
}

// mkdir makes dir and its parents, and syncs them.
func mkdir(ctx context.Context, root *os.Root, dir string) error {
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	err := root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) && dir != "." {
		if err := mkdir(ctx, root, filepath.Dir(dir)); err != nil {
			return err
		}
		err = root.Mkdir(dir, 0o755)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fsx.SyncDirIn(root, filepath.Dir(dir))
}

// Lock implements [Locker].
func (d *Dir) Lock(ctx context.Context, name string) (unlock func() error, err error) {
	root, _, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	// A digest, since names may be long or differ only in case.
	sum := sha256.Sum256([]byte(name))
	l, err := lockFile(ctx, root, hex.EncodeToString(sum[:16])+".lock")
	if err != nil {
		root.Close()
		return nil, err
	}
	fsx.SweepPartsIn(ctx, root, privateDir)
	return func() error { return errors.Join(l.Remove(), root.Close()) }, nil
}

// changeLock is the lock for changes of names. It is held for a short time only.
const changeLock = "change.lock"

func lockFile(ctx context.Context, root *os.Root, file string) (*fsx.Lock, error) {
	if err := makePrivate(root); err != nil {
		return nil, err
	}
	return fsx.AcquireLockIn(ctx, root, filepath.Join(privateDir, file))
}

func makePrivate(root *os.Root) error {
	err := root.Mkdir(privateDir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// maxElement is the maximum length in bytes of a file name on common file systems.
const maxElement = 255

// checkNewName is checkFileName for a file that is written, before directories are made for it.
func checkNewName(name string) error {
	for elem := range strings.SplitSeq(name, "/") {
		if len(elem) > maxElement {
			return fmt.Errorf("name %.200q has an element of %d bytes, %d are allowed: %w", name, len(elem), maxElement, fs.ErrInvalid)
		}
	}
	return checkFileName(name, runtime.GOOS)
}

// checkFileName returns an error if files cannot have this name on a system.
func checkFileName(name, goos string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	top, _, _ := strings.Cut(name, "/")
	switch {
	case strings.EqualFold(strings.TrimRight(top, ". "), privateDir): // the same name on macOS and Windows
		return fmt.Errorf("directory %q is not part of the store: %w", privateDir, fs.ErrInvalid)
	case goos == "windows" && strings.Contains(name, ":"):
		return fmt.Errorf("name %q has a colon, which Windows does not support; use another system or an object store: %w", top, fs.ErrInvalid)
	case goos == "windows" && strings.Contains(name, `\`):
		return fmt.Errorf("name %.200q has a backslash, which Windows does not support: %w", name, fs.ErrInvalid)
	}
	return nil
}
