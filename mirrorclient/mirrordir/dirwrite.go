package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofureg/tofureg/internal/fsx"
)

// Write writes a file beside the mirror and renames it into place.
func (d *Directory) Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error {
	path, err := d.path(ctx, name)
	if err != nil {
		return err
	}
	// It is looked at again below; most often this saves the work.
	if err := d.unchanged(path, was); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	s, err := d.stage(ctx)
	if err != nil {
		return err
	}
	defer s.Discard()
	if _, err := io.Copy(s.File, ctxReader{ctx, content}); err != nil {
		return err
	}
	if err := s.commit(ctx, name, was); err != nil {
		return err
	}
	return fsx.SyncDir(filepath.Dir(path))
}

// ctxReader stops with a context.
type ctxReader struct {
	ctx context.Context
	io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// Delete removes a file, and the directories that are empty then.
func (d *Directory) Delete(ctx context.Context, name string) error {
	return d.delete(ctx, name, func(string) error { return nil })
}

// deleteUnchanged removes a file that nobody has changed since it was read.
func (d *Directory) deleteUnchanged(ctx context.Context, name string, was Revision) error {
	return d.delete(ctx, name, func(path string) error { return d.unchanged(path, was) })
}

func (d *Directory) delete(ctx context.Context, name string, check func(path string) error) error {
	path, err := d.path(ctx, name)
	if err != nil {
		return err
	}
	unlock, err := d.lockChanges(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil // no file of this name
	}
	if err := check(path); err != nil {
		return err
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	for range strings.Count(name, "/") {
		if os.Remove(dir) != nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return fsx.SyncDir(dir)
}

// staged is a file without a name in the mirror. It is locked as long as it is in use,
// which tells it from those that dead processes have left behind.
type staged struct {
	*fsx.Part
	dir *Directory
}

func (d *Directory) stage(ctx context.Context) (*staged, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	dir, err := d.private()
	if err != nil {
		return nil, err
	}
	part, err := fsx.CreatePart(filepath.Join(dir, "staged"), 0o644)
	if err != nil {
		return nil, err
	}
	return &staged{part, d}, nil
}

// commit gives the file its name, as Storage.Write does. The name is durable when the
// directory has been synced.
func (s *staged) commit(ctx context.Context, name string, was Revision) error {
	path, err := s.dir.path(ctx, name)
	if err != nil {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	if err := s.rename(ctx, path, was); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (s *staged) rename(ctx context.Context, path string, was Revision) error {
	unlock, err := s.dir.lockChanges(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.dir.unchanged(path, was); err != nil {
		return err
	}
	if err := s.dir.mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	// On Windows the file is not locked any more when it gets its name, but nobody cleans
	// up while changes are locked.
	return s.PublishAs(path)
}

// unchanged compares the file at path with the one that the writer has seen.
func (d *Directory) unchanged(path string, was Revision) error {
	now := Revision("")
	o, err := openObject(path)
	switch {
	case err == nil:
		now = o.Revision
		o.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		// What is there may be a directory, or a link that points nowhere.
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%w: there is something else than a file", ErrConflict))
		}
	}
	if now != was {
		return ErrConflict
	}
	return nil
}

// mkdir makes dir and the directories above it, and their names durable.
func (d *Directory) mkdir(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) && len(dir) > len(d.Path) {
		if err := d.mkdir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return err
	}
	return fsx.SyncDir(filepath.Dir(dir))
}
