package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/internal/fsx"
)

// A stage is a private directory beside the target. All work is done in it, and what
// is complete is renamed. It is removed at the end; what a process that is killed leaves
// behind, the next one beside it removes.
type stage struct {
	target  string
	replace bool // whatever may be replaced there
	dir     string
	part    *fsx.PartDir // which dir is
	trees   int
}

// cleanTarget returns the absolute path of the target, as git runs in a directory of its
// own. It refuses what is no name of a directory.
func cleanTarget(target string) (string, error) {
	if base := filepath.Base(target); target == "" || base == "." || base == ".." || base == string(filepath.Separator) {
		return "", &fs.PathError{Op: "create", Path: target, Err: fs.ErrInvalid}
	}
	return absolute(target)
}

// absolute returns the absolute path. The working directory may be known by the name of a
// link to it; other than for filepath.Abs, ".." is then what is above the directory, as it
// is for the system, and not what is above the link.
func absolute(path string) (string, error) {
	if !strings.HasPrefix(filepath.Clean(path), "..") {
		return filepath.Abs(path)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, path), nil
}

// newStage makes the directory, and those above it that are missing.
func newStage(target string, replace bool) (*stage, error) {
	beside := filepath.Dir(target)
	if err := makeDirs(beside); err != nil {
		return nil, err
	}
	part, err := fsx.CreatePartDir(beside)
	if err != nil {
		return nil, err
	}
	fsx.SweepParts(beside)
	return &stage{target: target, replace: replace, dir: part.Path(), part: part}, nil
}

// makeDirs makes a directory, and those above it, as long as they are missing, and writes
// their names through to the disk.
func makeDirs(dir string) error {
	_, err := os.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil // if it is no directory, whoever writes to it says so
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := makeDirs(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsx.SyncDir(above)
}

// vacant returns nil if a package may be put at the path: there is nothing, or an empty
// directory, or something that may be replaced.
func vacant(path string, replace bool) error {
	info, err := os.Lstat(path) // what a symbolic link points to is nothing to replace
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case replace || !info.IsDir():
		return occupied(path, info, replace)
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.ReadDir(1); err != io.EOF {
		return errors.Join(occupied(path, info, false), err)
	}
	return nil
}

// occupied returns nil if what is at the path may be replaced, which files, pipes and
// devices never may.
func occupied(path string, info fs.FileInfo, replace bool) error {
	switch may := info.IsDir() || info.Mode().Type() == fs.ModeSymlink; {
	case may && replace:
		return nil
	case may:
		return fmt.Errorf("%s: %w; Options.Replace would replace it", path, ErrOccupied)
	}
	return fmt.Errorf("%s: %w", path, ErrOccupied)
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
	if s.replace {
		// Asked about what has changed places: before that it could become another thing.
		err = s.part.Put(path, s.target, func(old fs.FileInfo) error { return occupied(s.target, old, true) })
	} else {
		err = s.move(path)
	}
	if err != nil {
		return err
	}
	// What was there is removed only after this.
	return fsx.SyncDir(filepath.Dir(s.target))
}

// move gives the tree the name of the target, at which there is nothing but perhaps an
// empty directory.
func (s *stage) move(path string) error {
	// An empty directory stands in the way of a rename. Unlike os.Remove, Rmdir never
	// removes a file that has come there by now.
	err := syscall.Rmdir(s.target)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(path, s.target)
	}
	if err != nil {
		return cmp.Or(vacant(s.target, false), err)
	}
	return nil
}

// syncers is how many files are synced at a time. One after the other takes more than
// ten times as long, since a disk settles many at once.
const syncers = 16

// syncTree writes all files and directories below root through to the disk.
func syncTree(ctx context.Context, root *os.Root) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(syncers)
	walked := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		group.Go(func() error {
			if d.IsDir() {
				return fsx.SyncDir(filepath.Join(root.Name(), filepath.FromSlash(name)))
			}
			return syncFile(root, name)
		})
		return nil
	})
	return cmp.Or(group.Wait(), walked)
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
