package mirrordir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// Write implements [Storage].
func (d *Directory) Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error {
	s, err := d.stage(ctx, name)
	if err != nil {
		return err
	}
	defer s.Discard()
	if _, err := io.Copy(s.part.File, ctxReader{ctx, io.NewSectionReader(content, 0, content.Size())}); err != nil {
		return err
	}
	return s.commit(ctx, name, was)
}

// Stage implements [Local].
func (d *Directory) Stage(ctx context.Context) (Staged, error) {
	s, err := d.stage(ctx, "top") // any valid name
	if err != nil {
		return nil, err
	}
	return s, nil
}

// staged is a file in the private directory. It is locked while it is used, so that other processes do
// not remove it.
type staged struct {
	root *os.Root
	part *fsx.Part
}

// stage creates a file that is to get this name.
func (d *Directory) stage(ctx context.Context, name string) (*staged, error) {
	root, _, err := d.root(ctx, name)
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
	return &staged{root, part}, nil
}

func (s *staged) File() *os.File { return s.part.File }

func (s *staged) Commit(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return s.commit(ctx, name, "")
}

func (s *staged) Discard() {
	s.part.Discard()
	s.root.Close()
}

// commit gives the file its name, as Storage.Write does.
func (s *staged) commit(ctx context.Context, name string, was Revision) error {
	if err := s.part.Sync(); err != nil {
		return err
	}
	lock, err := changeLock(ctx, s.root)
	if err != nil {
		return err
	}
	defer lock.Release()
	file := filepath.FromSlash(name)
	if err := unchanged(s.root, file, was); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := mkdir(s.root, filepath.Dir(file)); err != nil {
		return err
	}
	if err := s.part.PublishAs(file); err != nil {
		return err
	}
	return fsx.SyncDirIn(s.root, filepath.Dir(file))
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
func (d *Directory) Delete(ctx context.Context, name string) error {
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

// Lock implements [Locker].
func (d *Directory) Lock(ctx context.Context, name string) (unlock func() error, err error) {
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
