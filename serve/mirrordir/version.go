package mirrordir

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/stored"
)

// version is a version to which packages are added. Where the store has locks, its lock is held.
type version struct {
	m        *Mirror
	provider addrs.Provider

	// adoptable reports whether there is an archive with the usual name, which may be used where the version has
	// no document.
	adoptable func(ctx context.Context, name string) (bool, error)

	// add adds one package. It does not write the document.
	add func(ctx context.Context, platform addrs.Platform) (*target, error)

	mu       sync.Mutex
	edit     *edit
	targets  map[addrs.Platform]*target // what add has returned
	failures map[addrs.Platform]error   // what it has failed with
}

// openVersion reads the document of a version.
func (m *Mirror) openVersion(ctx context.Context, p addrs.Provider, v addrs.Version) (*version, error) {
	e, err := m.begin(ctx, p, v, false)
	return &version{m: m, provider: p, edit: e, adoptable: never, targets: map[addrs.Platform]*target{}, failures: map[addrs.Platform]error{}}, err
}

// never is an adoptable that finds nothing.
func never(context.Context, string) (bool, error) { return false, nil }

// put adds a package.
func (v *version) put(ctx context.Context, platform addrs.Platform) {
	t, err := v.add(ctx, platform)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.failures[platform] = err
	} else {
		v.targets[platform] = t
	}
}

// find returns the name of the archive of a package, its entry, and the number of sweeps so far. Under a lock, the
// archive has the usual name, listed or not. Otherwise it has that of its entry. The name is empty if there is no
// such archive.
func (v *version) find(ctx context.Context, platform addrs.Platform) (name string, base listed, swept int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	a := address{v.provider, v.edit.version, platform}
	base = v.edit.doc.entries[platform.String()]
	if v.edit.doc.state != nil {
		swept = v.edit.doc.state.Swept
	}
	if !v.edit.fresh {
		return a.archive(), base, swept, nil
	}
	if name = resolve(providerDir(v.provider), base.URL); isArchiveOf(v.provider, v.edit.version, name) {
		return name, base, swept, nil
	}
	if v.edit.doc.was == "" {
		if ok, err := v.adoptable(ctx, a.archive()); ok || err != nil {
			return a.archive(), base, swept, err
		}
	}
	return "", base, swept, nil
}

// takeOff takes all entries of an archive off the documents before the archive is replaced.
func (v *version) takeOff(ctx context.Context, archive string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return stored.Retry(ctx, archive, func() error {
		e, err := v.m.begin(ctx, v.provider, v.edit.version, false)
		if err != nil {
			return err
		}
		v.edit = e
		n := len(e.entries)
		maps.DeleteFunc(e.entries, func(_ string, l listed) bool { return resolve(providerDir(v.provider), l.URL) == archive })
		if len(e.entries) == n {
			return nil
		}
		if err := v.m.publish(ctx, v.provider, []*edit{e}, false); err != nil {
			return err
		}
		v.edit, err = v.m.begin(ctx, v.provider, e.version, false)
		return err
	})
}

// finish lists what was added to some versions of a provider, and the versions in the index. After a conflict it looks at
// each package again.
func (m *Mirror) finish(ctx context.Context, p addrs.Provider, versions []*version) error {
	again := false
	return stored.Retry(ctx, indexName(p), func() error {
		var edits []*edit
		for _, v := range versions {
			if again {
				if err := v.review(ctx); err != nil {
					return err
				}
			}
			for platform, t := range v.targets {
				v.edit.entries[platform.String()] = t.entry()
			}
			if len(v.targets) > 0 {
				edits = append(edits, v.edit)
			}
		}
		again = true
		return m.publish(ctx, p, edits, false)
	})
}

// review reads the document again. If another writer has changed the entry of a package, or a sweep may have deleted its
// files, review deletes the uploads of the package, unless the document names them, and adds the package again.
func (v *version) review(ctx context.Context) (err error) {
	if v.edit, err = v.m.begin(ctx, v.provider, v.edit.version, false); err != nil {
		return err
	}
	listed := v.edit.doc.names(v.provider)
	for platform, t := range maps.Clone(v.targets) {
		_, now, swept, err := v.find(ctx, platform)
		if err != nil {
			return err
		}
		if now.equal(t.entry()) || now.equal(t.base) && (swept == t.swept || len(t.uploads) == 0) {
			continue
		}
		delete(v.targets, platform)
		void := slices.DeleteFunc(t.uploads, func(name string) bool { return listed[name] })
		if err := v.m.deleteAll(ctx, void); err != nil {
			return err
		}
		v.put(ctx, platform)
	}
	return nil
}
