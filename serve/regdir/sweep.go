package regdir

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// RemoveProvider removes a version of a provider. It ignores a version that is not published; the zero version is an
// error. In a store without locks, the files stay until [Registry.Sweep].
func (r *Registry) RemoveProvider(ctx context.Context, p addrs.Provider, v addrs.Version) error {
	i, err := r.providerItem(p, v)
	if err == nil {
		err = r.remove(ctx, i)
	}
	return failure.Wrap("remove", p.String()+" "+v.String(), err)
}

// RemoveModule removes a version of a module as [Registry.RemoveProvider] does.
func (r *Registry) RemoveModule(ctx context.Context, m addrs.Module, v addrs.Version) error {
	i, err := r.moduleItem(m, v)
	if err == nil {
		err = r.remove(ctx, i)
	}
	return failure.Wrap("remove", m.String()+" "+v.String(), err)
}

func (r *Registry) remove(ctx context.Context, i item) error {
	if i.version.IsZero() {
		return errNoVersion
	}
	return r.change(ctx, i, true, func(v *version) error {
		next := &record{Release: i.String()}
		if v.rec != nil {
			next = v.rec.removed()
		}
		if err := r.commit(ctx, v, next); err != nil || v.fresh {
			return err
		}
		return stored.Delete(ctx, r.Store, slices.Collect(maps.Keys(v.rec.names(i))))
	})
}

// uploads returns the archives of a version and the files beside them, with their sizes.
func (r *Registry) uploads(ctx context.Context, i item) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := stored.Walk(ctx, r.Store, i.files(), 2, func(level int, name string, e storage.Entry) bool {
		if e.IsDir {
			return isDir(e.Name)
		}
		if i.kind == modules && path.Ext(name) == ".gz" || i.kind == providers && level == 1 {
			sizes[name] = e.Size
		}
		return true
	})
	return sizes, err
}

// SweepResult is what [Registry.Sweep] has deleted.
type SweepResult struct {
	Files int   `json:"files"` // number of deleted files
	Bytes int64 `json:"bytes"` // their total size
}

// Sweep deletes files that no record names any more: files of removed versions in a store without locks, and uploads of
// processes that have died. It continues after a version that it cannot sweep; the error joins all errors.
//
// Call it once a day: a process that is publishing a version uploads it again after a Sweep, and a client may have to
// read a document again.
func (r *Registry) Sweep(ctx context.Context) (result SweepResult, err error) {
	for _, kind := range []string{providers, modules} {
		items, failed := r.items(ctx, "files", kind)
		err = errors.Join(err, failure.Wrap("sweep", "the registry", failed))
		for _, i := range items {
			entries, failed := r.Store.List(ctx, path.Join("files", kind, i.path))
			err = errors.Join(err, failure.Wrap("sweep", i.path, failed))
			for _, e := range entries {
				parse := addrs.ParseVersion
				if kind == modules {
					parse = addrs.ParseModuleVersion
				}
				if i.version, failed = parse(e.Name); failed != nil || i.version.String() != e.Name {
					continue
				}
				garbage, failed := r.sweepVersion(ctx, i)
				for _, size := range garbage {
					result.Files++
					result.Bytes += size
				}
				if err = errors.Join(err, failure.Wrap("sweep", i.String(), failed)); ctx.Err() != nil {
					return result, err
				}
			}
		}
	}
	return result, err
}

// sweepVersion deletes the files of a version that its record does not name. It writes the record and the documents
// before, so that no writer that has read them earlier can name one.
func (r *Registry) sweepVersion(ctx context.Context, i item) (garbage map[string]int64, err error) {
	there, err := r.uploads(ctx, i) // before the record
	if err != nil || len(there) == 0 {
		return nil, err
	}
	err = r.change(ctx, i, false, func(v *version) error {
		garbage = maps.Clone(there)
		named := v.rec.names(i)
		if maps.DeleteFunc(garbage, func(name string, _ int64) bool { return named[name] }); len(garbage) == 0 {
			return nil
		}
		next := &record{Release: i.String()}
		if v.rec != nil {
			*next = *v.rec
		}
		next.State.Swept++
		if err := r.commit(ctx, v, next); err != nil {
			garbage = nil
			return err
		}
		return stored.Delete(ctx, r.Store, slices.Collect(maps.Keys(garbage)))
	})
	return garbage, err
}
