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
	"github.com/tofureg/tofureg/internal/fsx"
)

// All yields the packages in the directory, sorted by name, without verifying them. It ignores
// names that Install does not use, and follows no symbolic links except to a package.
//
// All yields an error for an unreadable directory, and continues. A missing Dir has no packages.
func (d *Dir) All() iter.Seq2[*Package, error] { return d.all(context.Background()) }

// all is All until ctx ends. Then it yields its error.
func (d *Dir) all(ctx context.Context) iter.Seq2[*Package, error] {
	return func(yield func(*Package, error) bool) {
		o, err := d.open()
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				yield(nil, failed("list", d.subject(), err))
			}
			return
		}
		defer o.close()
		o.walk(ctx, "", 4, func(s *location, err error) bool {
			if err != nil {
				return yield(nil, failed("list", d.subject(), err))
			}
			pkg, err := s.installedPackage()
			return err != nil || yield(pkg, nil) // on an error it is gone, or not a package
		})
	}
}

func (d *Dir) subject() string { return "plugin directory " + d.Path }

// walk calls found for each package name that is levels below dir. It returns false if found does.
func (o *openDir) walk(ctx context.Context, dir string, levels int, found func(*location, error) bool) bool {
	names, err := o.list(path.Join(".", dir), -1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found(nil, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if ctx.Err() != nil {
			return found(nil, fault.Ended(ctx))
		}
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
		if o.isDir(name) == nil && !o.walk(ctx, name, levels-1, found) {
			return false
		}
	}
	return true
}

// parse returns the location with this name, or nil if it is not the name of a package.
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

// Prune removes the packages for which keep returns false, and returns them. If keep is nil, it
// removes none. It also clears the staging directories of dead processes. Lock files and parent
// directories stay, and so do the targets of symbolic links.
//
// If a package cannot be removed, Prune continues and joins the errors. If ctx ends, it returns the
// removed packages and an error.
//
// Call Prune while no CLI uses the directory. Windows does not remove a package
// whose program is running.
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
	for pkg, err := range d.all(ctx) {
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
	fsx.SweepPartsIn(ctx, o.root, private)
	return removed, errors.Join(problems...)
}

// remove removes a package from the directory.
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
	st, err := o.stage(ctx)
	if err != nil {
		return err
	}
	defer st.part.Discard(ctx)
	if err := s.root.Rename(s.name, st.name+"/old"); notExistIsNil(err) != nil {
		return err
	}
	return notExistIsNil(s.root.Remove(s.noteName()))
}
