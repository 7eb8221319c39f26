package mirrordir

import (
	"context"
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
	for _, v := range versions {
		if err := m.removeVersion(ctx, p, v); err != nil {
			return failed("remove", Want{Provider: p, Version: v}.String(), err)
		}
	}
	return nil
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
		for v := range f.versions {
			seen[v] = true
		}
	}
	var list []addrs.Version
	for v := range seen {
		list = append(list, v)
	}
	slices.SortFunc(list, addrs.Version.Compare)
	return list, nil
}

func (m *Mirror) removeVersion(ctx context.Context, p addrs.Provider, v addrs.Version) error {
	unlock, err := m.lockVersion(ctx, p, v)
	if err != nil {
		return err
	}
	defer unlock()
	homes := documentHomes(p)
	for _, dir := range homes {
		if err := m.unlistVersion(ctx, dir, v); err != nil {
			return err
		}
	}
	for _, dir := range homes {
		if err := m.Storage.Delete(ctx, path.Join(dir, documentName(v))); err != nil {
			return err
		}
	}
	f, err := m.inventory(ctx, p, homeOf(p))
	if err != nil {
		return err
	}
	// An archive without a record is nothing that anybody would list again.
	for _, group := range [][]string{f.records[v], f.archives[v]} {
		for _, name := range group {
			if err := m.Storage.Delete(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
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
