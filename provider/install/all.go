package install

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
)

// All yields the packages in the directory, sorted by name, without looking at their
// content: they may be incomplete, or not what they claim to be. Names that Install would
// not give are ignored. Symbolic links are not followed, except to a package.
//
// For a directory that cannot be read All yields the error, and goes on. A Dir that does not
// exist has no packages.
func (d *Dir) All() iter.Seq2[*Package, error] {
	return func(yield func(*Package, error) bool) {
		o, err := d.open()
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				yield(nil, failed("list", d.subject(), err))
			}
			return
		}
		defer o.close()
		o.walk("", 4, func(s *location, err error) bool {
			if err != nil {
				return yield(nil, failed("list", d.subject(), err))
			}
			pkg, err := s.look()
			return err != nil || yield(pkg, nil) // gone, or not a package
		})
	}
}

func (d *Dir) subject() string { return "plugin directory " + d.Path }

// walk calls found for each name of a package that is so many levels below dir.
func (o *openDir) walk(dir string, levels int, found func(*location, error) bool) bool {
	names, err := o.list(path.Join(".", dir), -1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found(nil, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if dir == "" && strings.HasPrefix(name, ".") {
			continue
		}
		name = path.Join(dir, name)
		if levels == 0 {
			if s := o.parse(name); s != nil && !found(s, nil) {
				return false
			}
			continue
		}
		if o.isDir(name) == nil && !o.walk(name, levels-1, found) {
			return false
		}
	}
	return true
}

// parse returns the location of this name, nil if no package can be there.
func (o *openDir) parse(name string) *location {
	parts := strings.Split(name, "/")
	p, _ := addrs.ParseProvider(strings.Join(parts[:3], "/"))
	v, _ := addrs.ParseVersion(parts[3])
	on, _ := addrs.ParsePlatform(parts[4])
	s, err := o.locate(p, v, on) // an error if one of them is zero
	if err != nil || s.name != name {
		return nil
	}
	return s
}

// Prune removes the packages for which keep returns false, and returns them. If keep is nil,
// it removes none. Prune also clears what killed processes have left in staging directories.
// Lock files stay, and the directories that lead to them; see the package comment.
//
// A package is removed under its lock and as a whole. Of a symbolic link only the link is
// removed. If a package cannot be removed, Prune goes on; it joins the errors. If ctx ends,
// Prune returns what it has removed beside the error. Programs that run from a removed
// package go on running, except on Windows, where the package is not removed.
func (d *Dir) Prune(ctx context.Context, keep func(*Package) bool) ([]*Package, error) {
	o, err := d.open()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, failed("prune", d.subject(), err)
	}
	defer o.close()
	var removed []*Package
	var problems []error
	for pkg, err := range d.All() {
		if err == nil && (keep == nil || keep(pkg)) {
			continue
		}
		if err == nil {
			err = o.remove(ctx, pkg)
		}
		if err == nil {
			removed = append(removed, pkg)
		}
		if ctx.Err() != nil {
			problems = append(problems, failed("prune", d.subject(), fault.Ended(ctx)))
			return removed, errors.Join(problems...)
		}
		if err != nil {
			problems = append(problems, failed("prune", pkg.String(), err))
		}
	}
	if err := o.sweep(); err != nil {
		problems = append(problems, failed("prune", d.subject(), err))
	}
	return removed, errors.Join(problems...)
}

// remove takes a package out of the directory.
func (o *openDir) remove(ctx context.Context, pkg *Package) error {
	s, err := o.locate(pkg.Provider, pkg.Version, pkg.Platform)
	if err != nil {
		return err
	}
	l, err := s.acquire(ctx, func() {})
	if err != nil {
		return err
	}
	defer l.Release()
	st, err := o.stage()
	if err != nil {
		return err
	}
	defer st.release()
	if err := s.root.Rename(s.name, st.name+"/old"); notExistIsNil(err) != nil {
		return err
	}
	return s.removeNote()
}
