package module

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tofureg/tofureg/internal/fsx"
)

// A stage is a private directory beside the target. All work is done in it, and what
// is complete is renamed. It is removed at the end; what a process that is killed leaves
// behind, the next one beside it removes.
type stage struct {
	target string
	dir    string
	part   *fsx.PartDir // which dir is
	trees  int
}

// newStage refuses a target that nothing can be put at, and makes the directory.
func newStage(target string) (*stage, error) {
	if base := filepath.Base(target); target == "" || base == "." || base == ".." || base == string(filepath.Separator) {
		return nil, &fs.PathError{Op: "create", Path: target, Err: fs.ErrInvalid}
	}
	target = filepath.Clean(target)
	if err := vacant(target); err != nil {
		return nil, err
	}
	beside := filepath.Dir(target)
	part, err := fsx.CreatePartDir(beside)
	if err != nil {
		return nil, err
	}
	fsx.SweepParts(beside)
	return &stage{target: target, dir: part.Path(), part: part}, nil
}

// vacant returns nil if there is nothing at the path, or an empty directory.
func vacant(path string) error {
	info, err := os.Lstat(path) // what a symbolic link points to is nothing to replace
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: %w", path, ErrOccupied)
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.ReadDir(1); err != io.EOF {
		return errors.Join(fmt.Errorf("%s: %w", path, ErrOccupied), err)
	}
	return nil
}

// path returns a path in the stage.
func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// tree makes a new empty directory for a package and opens it.
func (s *stage) tree() (*os.Root, error) {
	s.trees++
	path := s.path(fmt.Sprintf("tree%d", s.trees))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(path)
}

// commit puts the tree of root in the place of the target, and closes root.
func (s *stage) commit(ctx context.Context, root *os.Root) error {
	path := root.Name()
	err := syncTree(ctx, root)
	// Windows renames no directory that is open.
	if err := errors.Join(err, root.Close()); err != nil {
		return err
	}
	if err := vacant(s.target); err != nil {
		return err
	}
	// An empty directory stands in the way of a rename. If somebody has put
	// something into it by now, it is not removed.
	if err := os.Remove(s.target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(path, s.target); err != nil {
		return err
	}
	return fsx.SyncDir(filepath.Dir(s.target))
}

// discard removes the stage.
func (s *stage) discard() { s.part.Discard() }

// syncers is how many files are synced at a time. One after the other takes more than
// ten times as long, since a disk settles many at once.
const syncers = 16

// syncTree writes all files and directories below root through to the disk.
func syncTree(ctx context.Context, root *os.Root) error {
	type item struct {
		name string
		dir  bool
	}
	items, failed := make(chan item), make(chan error, syncers)
	var wg sync.WaitGroup
	for range syncers {
		wg.Go(func() {
			var first error
			for i := range items {
				switch {
				case first != nil: // the rest is of no use
				case i.dir:
					first = fsx.SyncDir(filepath.Join(root.Name(), filepath.FromSlash(i.name)))
				default:
					first = syncFile(root, i.name)
				}
			}
			failed <- first
		})
	}
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		items <- item{path, d.IsDir()}
		return nil
	})
	close(items)
	wg.Wait()
	close(failed)
	for one := range failed {
		err = errors.Join(err, one)
	}
	return err
}

func syncFile(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		f, err = root.Open(name) // enough, except on Windows
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
