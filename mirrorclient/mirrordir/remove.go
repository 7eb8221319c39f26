package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"

	"github.com/tofureg/tofureg/addrs"
)

// Remove takes these versions of p out of the mirror, or all of p if none is named. What
// is not there is no error. Unpacked packages are left alone, since nothing here has made
// them.
//
// The index goes first and the archives last, so that a client that reads the index now
// is not led astray; one that has read it before may still be. On a [Storage] that is no
// [Locker] nobody may add the same versions meanwhile.
func (m *Mirror) Remove(ctx context.Context, p addrs.Provider, versions ...addrs.Version) error {
	subject := p.String()
	if err := (Want{Provider: p, Version: v0}).check(); err != nil {
		return failed("remove", subject, err)
	}
	if _, ok := m.Storage.(*Directory); ok {
		if err := nameable(homeOf(p), runtime.GOOS); err != nil {
			return failed("remove", subject, err)
		}
	}
	if len(versions) == 0 {
		var err error
		if versions, err = m.allVersions(ctx, p); err != nil {
			return failed("remove", subject, err)
		}
	}
	late, err := m.removeVersions(ctx, p, versions, &shelf{})
	if err != nil || len(late) == 0 {
		return err
	}
	// Somebody who has died since may have placed more before the lock was taken.
	again := &shelf{}
	files, _, err := again.list(ctx, m, p)
	if err != nil {
		return failed("remove", subject, err)
	}
	late = slices.DeleteFunc(late, func(v addrs.Version) bool {
		return len(files.archives[v]) == 0 && len(files.records[v]) == 0
	})
	_, err = m.removeVersions(ctx, p, late, again)
	return err
}

// removeVersions returns those of the versions that were locked after the listing.
func (m *Mirror) removeVersions(ctx context.Context, p addrs.Provider, versions []addrs.Version, dir *shelf) (late []addrs.Version, err error) {
	for _, v := range versions {
		fresh, err := m.removeVersion(ctx, p, v, dir)
		if err != nil {
			return nil, failed("remove", Want{Provider: p, Version: v}.String(), err)
		}
		if !fresh {
			late = append(late, v)
		}
	}
	return late, nil
}

// v0 stands for any version.
var v0 = addrs.MustParseVersion("0.0.0")

// allVersions returns all versions of which there is anything.
func (m *Mirror) allVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	seen := map[addrs.Version]bool{}
	for _, dir := range documentHomes(p) {
		f, err := m.inventory(ctx, p, dir)
		if err != nil {
			return nil, err
		}
		maps.Copy(seen, f.versions)
		index, err := m.readIndex(ctx, dir)
		if errors.Is(err, errDocument) {
			err = fmt.Errorf("%w; Mirror.Reindex makes it anew", err)
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(seen, index)
	}
	return slices.SortedFunc(maps.Keys(seen), addrs.Version.Compare), nil
}

// removeVersion removes one version and reports whether the listing is younger than the lock
// that was held meanwhile.
func (m *Mirror) removeVersion(ctx context.Context, p addrs.Provider, v addrs.Version, dir *shelf) (fresh bool, err error) {
	unlock, err := m.lockVersion(ctx, p, v)
	if err != nil {
		return false, err
	}
	defer unlock()
	files, fresh, err := dir.list(ctx, m, p)
	if err != nil {
		return false, err
	}
	archives, err := m.documented(ctx, p, v)
	if err != nil {
		return false, err
	}
	archives = append(archives, files.archives[v]...)
	records := slices.Clone(files.records[v])
	for _, name := range archives {
		records = append(records, recordName(name))
	}
	homes := documentHomes(p)
	for _, home := range homes {
		if err := m.unlistVersion(ctx, home, v); err != nil {
			return false, err
		}
	}
	for _, home := range homes {
		if err := m.Storage.Delete(ctx, path.Join(home, documentName(v))); err != nil {
			return false, err
		}
	}
	// An archive without a record is nothing that anybody would list again.
	for _, name := range append(unique(records), unique(archives)...) {
		if err := m.Storage.Delete(ctx, name); err != nil {
			return false, err
		}
	}
	return fresh, nil
}

// unlistVersion takes v out of the index in dir, and removes an index that lists nothing
// else.
func (m *Mirror) unlistVersion(ctx context.Context, dir string, v addrs.Version) error {
	return m.update(ctx, path.Join(dir, indexName), func(data []byte) ([]byte, error) {
		doc, versions, err := parseDocument(data, memberVersions)
		if err != nil {
			return nil, err
		}
		if _, ok := versions[v.String()]; !ok {
			return data, nil
		}
		delete(versions, v.String())
		if len(versions) == 0 {
			return nil, nil
		}
		return edited(doc, memberVersions, versions)
	})
}
