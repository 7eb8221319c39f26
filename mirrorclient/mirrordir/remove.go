package mirrordir

import (
	"context"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
)

// Remove takes these versions of p out of the mirror, or all of p if none is named. What
// is not there is no error. Unpacked packages are left alone, since nothing here has made
// them.
//
// The index goes first, then the documents, the records and the archives, so that a client that
// reads the index now is not led astray; one that has read it before may still be. If Remove
// does not come to its end, Remove finishes what it began, and adding other versions does not
// list these again. On a [Storage] that is no [Locker] nothing else may change the provider
// meanwhile.
func (m *Mirror) Remove(ctx context.Context, p addrs.Provider, versions ...addrs.Version) error {
	return failed("remove", p.String(), m.remove(ctx, p, versions))
}

func (m *Mirror) remove(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	if err := (Want{Provider: p, Version: v0}).check(); err != nil {
		return err
	}
	if err := m.nameable(p); err != nil {
		return err
	}
	if len(versions) == 0 {
		var err error
		if versions, err = m.allVersions(ctx, p); err != nil {
			return err
		}
	}
	versions = slices.SortedFunc(slices.Values(versions), addrs.Version.Compare)
	for some := range slices.Chunk(slices.Compact(versions), maxRemoved) {
		if err := m.removeVersions(ctx, p, some); err != nil {
			return err
		}
	}
	return nil
}

// maxRemoved is how many versions are locked and removed at once.
const maxRemoved = 50

// v0 stands for any version.
var v0 = addrs.MustParseVersion("0.0.0")

// allVersions returns all versions of which there is anything.
func (m *Mirror) allVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	seen := map[addrs.Version]bool{}
	for _, dir := range documentHomes(p) {
		f, err := m.list(ctx, p, dir)
		if err != nil {
			return nil, err
		}
		maps.Copy(seen, f.versions)
		index, err := m.readIndex(ctx, dir)
		if err != nil {
			return nil, withRemedy(err)
		}
		maps.Copy(seen, index)
	}
	return slices.Collect(maps.Keys(seen)), nil
}

// removeVersions removes versions, which are sorted: two calls lock them in the same order.
func (m *Mirror) removeVersions(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	for _, v := range versions {
		unlock, err := m.lockVersion(ctx, p, v)
		if err != nil {
			return err
		}
		defer unlock()
	}
	return m.publish(ctx, p, versions, publication{drop: func(ctx context.Context, f *files) error {
		// An archive without a record is nothing that anybody would list again.
		for _, kind := range []map[addrs.Version][]string{f.records, f.archives} {
			for _, v := range versions {
				for _, name := range kind[v] {
					if err := m.Storage.Delete(ctx, name); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}})
}
