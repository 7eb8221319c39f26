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

// directory is the Storage and Locker for a local directory. Several processes may use it
// concurrently. It never follows a symbolic link out of the directory.
type directory struct{ path string }

// privateDir is the directory for files that are not part of the mirror. The CLI ignores it because of
// the dot.
const privateDir = ".tofureg"

// Open opens a file. It follows symbolic links within the mirror.
func (d *directory) Open(ctx context.Context, name string) (*Object, error) {
	root, file, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openObject(root, file)
}

// root opens the directory and checks a name.
func (d *directory) root(ctx context.Context, name string) (*os.Root, string, error) {
	if ctx.Err() != nil {
		return nil, "", fault.Ended(ctx)
	}
	if err := checkName(name); err != nil {
		return nil, "", err
	}
	if err := checkFileName(name, runtime.GOOS); err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(d.path)
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
func (d *directory) List(ctx context.Context, dir string) ([]Entry, error) {
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
			e := Entry{Name: n.Name(), IsDir: info.IsDir()}
			if !e.IsDir {
				e.Size = info.Size()
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// statLink returns the target of a link in a directory if the link is listed.
func (d *directory) statLink(root *os.Root, dir, name string) (fs.FileInfo, error) {
	name = filepath.Join(filepath.FromSlash(dir), name)
	if strings.Count(dir, "/") == 3 { // HOST/NAMESPACE/TYPE/VERSION
		return os.Stat(filepath.Join(d.path, name))
	}
	info, err := root.Stat(name)
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	return info, err
}

// localPath returns the path for a name, or an error if no file can have this name.
func (d *directory) localPath(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return filepath.Join(d.path, filepath.FromSlash(name)), checkFileName(name, runtime.GOOS)
}

// Write implements Storage.
func (d *directory) Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error {
	p, err := d.stage(ctx, name)
	if err != nil {
		return err
	}
	defer p.discard()
	if _, err := io.Copy(p.file.File, ctxReader{ctx, io.NewSectionReader(content, 0, content.Size())}); err != nil {
		return err
	}
	return p.commit(ctx, name, was)
}

// part is a file in the private directory. It is locked while it is used, so that other processes do
// not remove it.
type part struct {
	root *os.Root
	file *fsx.Part
}

// stage creates a file that is to get this name.
func (d *directory) stage(ctx context.Context, name string) (*part, error) {
	root, _, err := d.root(ctx, name)
	if err != nil {
		return nil, err
	}
	var file *fsx.Part
	if err = makePrivate(root); err == nil {
		file, err = fsx.CreatePartIn(root, privateDir, 0o644)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return &part{root, file}, nil
}

func (p *part) discard() {
	p.file.Discard()
	p.root.Close()
}

// commit gives the file its name, as Storage.Write does.
func (p *part) commit(ctx context.Context, name string, was Revision) error {
	if err := p.file.Sync(); err != nil {
		return err
	}
	lock, err := changeLock(ctx, p.root)
	if err != nil {
		return err
	}
	defer lock.Release()
	file := filepath.FromSlash(name)
	if err := unchanged(p.root, file, was); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := mkdir(p.root, filepath.Dir(file)); err != nil {
		return err
	}
	if err := p.file.PublishAs(file); err != nil {
		return err
	}
	return fsx.SyncDirIn(p.root, filepath.Dir(file))
}

// ctxReader fails when its context ends.
type ctxReader struct {
	ctx context.Context
	io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, fault.Ended(r.ctx)
	}
	return r.Reader.Read(p)
}

// Delete removes a file and directories that become empty.
func (d *directory) Delete(ctx context.Context, name string) error {
	root, file, err := d.root(ctx, name)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := changeLock(ctx, root)
	if err != nil {
		return err
	}
	defer lock.Release()
	info, err := root.Lstat(file)
	if isMissing(err) || err == nil && info.IsDir() {
		return nil // there is no file of this name
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
	o, err := openObject(root, name)
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
func mkdir(root *os.Root, dir string) error {
	err := root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) && dir != "." {
		if err := mkdir(root, filepath.Dir(dir)); err != nil {
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

// Lock implements Locker.
func (d *directory) Lock(ctx context.Context, name string) (unlock func() error, err error) {
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

// changeLock waits for the lock for changes of names. It is held for a short time only.
func changeLock(ctx context.Context, root *os.Root) (*fsx.Lock, error) {
	return lockFile(ctx, root, "change.lock")
}

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

// checkFileName returns an error if files cannot have this name on a system.
func checkFileName(name, goos string) error {
	top, _, _ := strings.Cut(name, "/")
	switch {
	case strings.EqualFold(strings.TrimRight(top, ". "), privateDir): // the same name on macOS and Windows
		return fmt.Errorf("directory %q is not part of the mirror: %w", privateDir, fs.ErrInvalid)
	case goos == "windows" && strings.Contains(name, ":"):
		return fmt.Errorf("name %q has a colon, which Windows does not support; keep providers of a host with a port on another system or in an object store: %w", top, fs.ErrInvalid)
	case goos == "windows" && strings.Contains(name, `\`):
		return fmt.Errorf("name %.200q has a backslash, which Windows does not support: %w", name, fs.ErrInvalid)
	}
	return nil
}
