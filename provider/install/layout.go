package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// openDir is an open plugin directory. Access stays within it, even if another process creates
// symbolic links.
type openDir struct {
	root *os.Root // named by its absolute path
}

// open opens the directory. It does not create it.
func (d *Dir) open() (*openDir, error) {
	if d == nil || d.Path == "" {
		return nil, errors.New("Dir.Path is empty")
	}
	base, err := filepath.Abs(d.Path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	return &openDir{root}, nil
}

// create creates the directory if necessary, and opens it.
func (d *Dir) create() (*openDir, error) {
	if d != nil && d.Path != "" {
		if err := os.MkdirAll(d.Path, 0o755); err != nil {
			return nil, err
		}
	}
	return d.open()
}

func (o *openDir) close() { o.root.Close() }

// path returns the absolute path of a name in the directory.
func (o *openDir) path(name string) string {
	return filepath.Join(o.root.Name(), filepath.FromSlash(name))
}

// location is the location of a package in a plugin directory, whether the package exists or not.
type location struct {
	*openDir
	pkg  Package // without Link
	name string  // HOST/NAMESPACE/TYPE/VERSION/OS_ARCH
}

// nameOf returns HOST/NAMESPACE/TYPE/VERSION/OS_ARCH, or "" if one of them is missing.
func nameOf(p addrs.Provider, v addrs.Version, on addrs.Platform) string {
	if p.IsZero() || v.IsZero() || on.IsZero() {
		return ""
	}
	return path.Join(p.Host().Display(), p.Namespace(), p.Type(), v.String(), on.String())
}

func (o *openDir) locate(p addrs.Provider, v addrs.Version, on addrs.Platform) (*location, error) {
	name := nameOf(p, v, on)
	if name == "" {
		return nil, errors.New("provider, version or platform is missing")
	}
	return &location{openDir: o, name: name, pkg: Package{Provider: p, Version: v, Platform: on, Dir: o.path(name)}}, nil
}

// lockName returns the name of the lock file, which the CLI uses as well.
func (s *location) lockName() string { return s.name + ".lock" }

// parents returns the directories above the package, the top one first.
func (s *location) parents() []string {
	var list []string
	for i, c := range s.name {
		if c == '/' {
			list = append(list, s.name[:i])
		}
	}
	return list
}

// installedPackage returns the package at the location, unverified. A symbolic link that cannot be
// followed is not a package and can be replaced.
func (s *location) installedPackage() (*Package, error) {
	for _, dir := range s.parents() {
		if err := s.isDir(dir); err != nil {
			return nil, notInstalled(err)
		}
	}
	pkg := s.pkg
	info, err := s.root.Lstat(s.name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		if pkg.Link, err = s.root.Readlink(s.name); err != nil {
			return nil, notInstalled(err)
		}
		if info, err = os.Stat(pkg.Dir); err != nil { // links of the CLI lead out of the root
			return nil, fmt.Errorf("%w: %w", ErrNotInstalled, err)
		}
	}
	switch {
	case err != nil:
		return nil, notInstalled(err)
	case !info.IsDir():
		return nil, fmt.Errorf("%w: %s is not a directory", ErrNotInstalled, pkg.Dir)
	}
	return &pkg, nil
}

func notInstalled(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotInstalled
	}
	return err
}

// isDir returns an error unless name is a directory. It refuses symbolic links, as the CLI does.
func (o *openDir) isDir(name string) error {
	info, err := o.root.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return fmt.Errorf("%s: %w", o.path(name), ErrLinked)
	case !info.IsDir():
		return &fs.PathError{Op: "open", Path: o.path(name), Err: errors.New("not a directory")}
	}
	return nil
}

// mkdir creates a directory if it does not exist.
func (o *openDir) mkdir(name string) error {
	err := o.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return o.isDir(name)
	}
	return err
}

// sync syncs directories.
func (o *openDir) sync(ctx context.Context, dirs []string) error {
	for _, dir := range dirs {
		if ctx.Err() != nil {
			return fault.Ended(ctx)
		}
		if err := fsx.SyncDir(o.path(dir)); err != nil {
			return err
		}
	}
	return nil
}
