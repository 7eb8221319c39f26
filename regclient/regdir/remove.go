package regdir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// remove removes a version. It ignores a missing one.
func (r *Registry) remove(ctx context.Context, i item) error {
	if i.version.IsZero() {
		return errNoVersion
	}
	if err := r.Store.Delete(ctx, i.files()+"/none", "none"); err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			err = fmt.Errorf("the store cannot delete on a condition, so that what other processes publish could be lost: %w", err)
		}
		return err
	}
	return stored.Change(ctx, r.Store, i.record(), func() error { return r.removeOnce(ctx, i) })
}

// removeOnce looks at the files of a version, then writes a tombstone, then the documents without the version, then
// deletes these files, then the tombstone. A process that publishes the version meanwhile finds the tombstone, at the
// latest when it writes its record, and waits for the end of the removal. Files of a later publication, which follows
// another removal, have other revisions.
func (r *Registry) removeOnce(ctx context.Context, i item) error {
	old, rec, err := r.read(ctx, i)
	if err != nil && !errors.Is(err, stored.ErrDamaged) {
		return err
	}
	if rec == nil {
		rec = &record{Release: i.String()}
	}
	names, err := r.walk(ctx, i.files())
	if err != nil {
		return err
	}
	was := make([]storage.Info, len(names))
	err = stored.Each(ctx, parallel, len(names), func(ctx context.Context, n int) (err error) {
		if was[n], err = r.Store.Stat(ctx, names[n]); isMissing(err) {
			err = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	rec.Removed = rand.Text()
	tombstone, err := stored.Replace(ctx, r.Store, i.record(), rec, old)
	if err != nil {
		return err
	}
	if err := r.update(ctx, i); err != nil {
		return err
	}
	err = stored.Each(ctx, parallel, len(names), func(ctx context.Context, n int) error {
		if names[n] == i.record() || was[n].Revision == "" {
			return nil
		}
		return r.Store.Delete(ctx, names[n], was[n].Revision)
	})
	if err == nil {
		err = r.Store.Delete(ctx, i.record(), tombstone.Revision)
	}
	if err != nil {
		return err
	}
	// In a store whose revisions are digests, the files can have been those of a version published since.
	_, rec, err = r.read(ctx, i)
	if err != nil || rec == nil || rec.Removed != "" {
		return err
	}
	return r.hasFiles(ctx, i, rec)
}

// walk returns the names of all files below dir.
func (r *Registry) walk(ctx context.Context, dir string) (names []string, err error) {
	const depth = 4 // the deepest is VERSION/download/OS/ARCH
	dirs := []string{dir}
	for range depth {
		var below []string
		for _, dir := range dirs {
			entries, err := r.Store.List(ctx, dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if name := path.Join(dir, e.Name); e.IsDir {
					below = append(below, name)
				} else {
					names = append(names, name)
				}
			}
		}
		dirs = below
	}
	return names, nil
}
