package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fsx"
)

// openDir is a plugin directory in use. All work stays within it, whatever links another
// process plants there.
type openDir struct {
	root *os.Root // named by its absolute path
}

// open opens the directory if it is there.
func (d *Dir) open() (*openDir, error) {
	if d == nil || d.Path == "" {
		return nil, errors.New("the plugin directory has no path")
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

// create opens the directory, and makes it if need be.
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

// location is where a package is in a plugin directory, or is to be.
type location struct {
	*openDir
	pkg  Package // as it would be if it were no link
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

// lockName is the name of the file that the CLI locks as well. It is beside the package,
// whose hash it would change.
func (s *location) lockName() string { return s.name + ".lock" }

// parents returns the directories that lead to the package, the top one first.
func (s *location) parents() []string {
	var list []string
	for i, c := range s.name {
		if c == '/' {
			list = append(list, s.name[:i])
		}
	}
	return list
}

// look returns the package at the location, unverified. A link that cannot be followed
// leads to no package: it can be replaced like a link that leads nowhere.
func (s *location) look() (*Package, error) {
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
		if info, err = os.Stat(pkg.Dir); err != nil { // a link of the CLI leads to another directory
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

// isDir returns an error if there is no directory of this name, or a link to one, which
// the CLI does not follow either.
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

// mkdir makes a directory, or makes sure that it is there.
func (o *openDir) mkdir(name string) error {
	err := o.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return o.isDir(name)
	}
	return err
}

// sync makes the names in directories durable.
func (o *openDir) sync(dirs []string) error {
	for _, dir := range dirs {
		if err := fsx.SyncDir(o.path(dir)); err != nil {
			return err
		}
	}
	return nil
}

// mkdirs makes the directories that lead to the package.
func (s *location) mkdirs() error {
	for _, dir := range s.parents() {
		if err := s.mkdir(dir); err != nil {
			return err
		}
	}
	return nil
}
