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

// staging is a staging directory beside the target. The complete package is renamed from it. If
// the process is killed, the next download beside it removes it.
type staging struct {
	target  string
	replace bool // Options.Replace
	dir     string
	part    *fsx.PartDir // dir
	trees   int
}

// cleanTarget returns the absolute path of the target. It refuses texts that do not name a
// directory.
func cleanTarget(target string) (string, error) {
	if base := filepath.Base(target); target == "" || base == "." || base == ".." || base == string(filepath.Separator) {
		return "", &fs.PathError{Op: "create", Path: target, Err: fs.ErrInvalid}
	}
	return absolute(target)
}

// absolute returns the absolute path. Unlike filepath.Abs, it resolves ".." as the system
// does if the working directory is known by the name of a symbolic link.
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

// newStaging creates the staging directory, and missing directories above it.
func newStaging(ctx context.Context, target string, replace bool) (*staging, error) {
	beside := filepath.Dir(target)
	if err := makeDirs(beside); err != nil {
		return nil, err
	}
	part, err := fsx.CreatePartDir(beside)
	if err != nil {
		return nil, err
	}
	fsx.SweepParts(ctx, beside)
	return &staging{target: target, replace: replace, dir: part.Path(), part: part}, nil
}

// makeDirs creates a directory and missing directories above it, and syncs them.
func makeDirs(dir string) error {
	_, err := os.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil // if it is not a directory, the next step fails
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

// checkTarget returns nil if a package may be put at the path: it is missing, an empty
// directory, or may be replaced.
func checkTarget(path string, replace bool) error {
	info, err := os.Lstat(path) // a symbolic link is replaced, not its target
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case replace || !info.IsDir():
		return checkReplaceable(path, info, replace)
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.ReadDir(1); err != io.EOF {
		return errors.Join(checkReplaceable(path, info, false), err)
	}
	return nil
}

// checkReplaceable returns nil if the file at the path may be replaced.
func checkReplaceable(path string, info fs.FileInfo, replace bool) error {
	switch may := info.IsDir() || info.Mode().Type() == fs.ModeSymlink; {
	case may && replace:
		return nil
	case may:
		return fmt.Errorf("%s: %w; set Options.Replace to replace it", path, ErrOccupied)
	}
	return fmt.Errorf("%s: %w", path, ErrOccupied)
}

// path returns a path in the staging directory.
func (s *staging) path(name string) string { return filepath.Join(s.dir, name) }

// newTree creates an empty directory for a package and opens it.
func (s *staging) newTree() (*os.Root, error) {
	s.trees++
	path := s.path(fmt.Sprintf("tree%d", s.trees))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(path)
}

// commit moves the tree of root to the target, and closes root.
func (s *staging) commit(ctx context.Context, root *os.Root) error {
	path := root.Name()
	err := syncTree(ctx, root)
	// Windows cannot rename an open directory.
	if err := errors.Join(err, root.Close()); err != nil {
		return err
	}
	if s.replace {
		// Put checks the old file after the exchange, when no other process can replace it.
		_, err = s.part.Put(filepath.Base(path), filepath.Base(s.target), func(old fs.FileInfo) error { return checkReplaceable(s.target, old, true) })
	} else {
		err = s.rename(path)
	}
	if err != nil {
		return err
	}
	// The old directory is removed after this, with the staging directory.
	return fsx.SyncDir(filepath.Dir(s.target))
}

// rename moves the tree to the target, which is missing or an empty directory.
func (s *staging) rename(path string) error {
	// A rename does not replace an empty directory. Unlike os.Remove, Rmdir never removes a
	// file.
	err := syscall.Rmdir(s.target)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(path, s.target)
	}
	if err != nil {
		return cmp.Or(checkTarget(s.target, false), err)
	}
	return nil
}

// syncers is the number of files that are synced at the same time. Disks sync many at once
// more than ten times as fast as one after the other.
const syncers = 16

// syncTree syncs all files and directories below root.
func syncTree(ctx context.Context, root *os.Root) error {
	group, failed := errgroup.WithContext(ctx)
	group.SetLimit(syncers)
	walked := fs.WalkDir(fsx.Tree(ctx, root), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = cmp.Or(ctx.Err(), failed.Err())
		}
		if err != nil {
			return err
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
		f, err = root.Open(name) // sufficient except on Windows
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
