package module

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// plugged has the caller's fetcher do the work, and checks what came.
func (j *job) plugged(ctx context.Context, loc *Location) (*pack, error) {
	root, err := j.stage.tree()
	if err != nil {
		return nil, err
	}
	path := root.Name()
	top, err := root.Stat(".")
	// Some fetchers make the directory anew, which Windows permits for none that is open.
	if err := errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	given := *loc
	given.Subdir = ""
	if err := j.o.Fetcher.FetchModule(ctx, &given, path); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%w: the fetcher left no directory", ErrArchive), err)
	}
	if root, err = os.OpenRoot(path); err != nil {
		return nil, err
	}
	h1, err := j.check(ctx, root, top.Mode())
	if err != nil {
		root.Close()
		return nil, hinted(err)
	}
	return &pack{root: root, h1: h1}, nil
}

func (j *job) check(ctx context.Context, root *os.Root, top fs.FileMode) (checksum.Hash, error) {
	if err := j.tidy(ctx, root, top); err != nil {
		return checksum.Hash{}, err
	}
	if err := refuseRepository(root); err != nil {
		return checksum.Hash{}, err
	}
	return checksum.H1Dir(ctx, fsx.Tree(ctx, root))
}

// setMode gives a file or directory the mode that it would have from an archive. The
// umask is told by that of a directory that was made with 0755.
func setMode(root *os.Root, name string, d fs.DirEntry, dir fs.FileMode) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	const all = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	want := dir & all
	switch {
	case d.IsDir():
	case info.Mode()&0o111 != 0:
		want &= 0o755
	default:
		want &= 0o644
	}
	if info.Mode()&all == want {
		return nil
	}
	return root.Chmod(name, want)
}

// tidy removes what must not be in a package, or refuses it, counts the rest, and gives
// it the modes that it would have from an archive. Top is the mode of directories.
func (j *job) tidy(ctx context.Context, root *os.Root, top fs.FileMode) error {
	var remove []string
	var size int64
	entries := 0
	err := fs.WalkDir(fsx.Tree(ctx, root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return setMode(root, name, d, top)
		}
		if isControlDir(d.Name()) {
			remove = append(remove, name)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entries++; entries > j.limits.Entries {
			return fmt.Errorf("more than %d entries: %w", j.limits.Entries, ErrTooLarge)
		}
		switch t := d.Type(); {
		case t == fs.ModeSymlink && j.o.SkipLinks:
			j.skip(name)
			remove = append(remove, name)
			return nil
		case t == fs.ModeSymlink:
			return fmt.Errorf("%w: %.200q is a symbolic link", ErrLink, name)
		case t != 0 && t != fs.ModeDir:
			return fmt.Errorf("%w: %.200q is neither file nor directory", ErrArchive, name)
		case t == fs.ModeDir:
			return setMode(root, name, d, top)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > j.limits.Unpacked {
			return fmt.Errorf("more than %d bytes: %w", j.limits.Unpacked, ErrTooLarge)
		}
		return setMode(root, name, d, top)
	})
	for _, name := range remove {
		if err == nil {
			err = root.RemoveAll(name)
		}
	}
	if err == nil && entries == 0 {
		return fmt.Errorf("%w: the fetcher left the directory empty", ErrArchive)
	}
	return err
}
