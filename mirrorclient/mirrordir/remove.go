package mirrordir

import (
	"context"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
)

// Remove removes versions of p, or all versions if none is given. It ignores missing versions and
// keeps unpacked packages. If it fails, another call completes the removal. If Storage is not a
// [Locker], nothing else may change the provider during the call.
func (m *Mirror) Remove(ctx context.Context, p addrs.Provider, versions ...addrs.Version) error {
	return failed("remove", p.String(), m.remove(ctx, p, versions))
}

func (m *Mirror) remove(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	if err := (Want{Provider: p, Version: v0}).check(); err != nil {
		return err
	}
	if err := m.checkProviderDir(p); err != nil {
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

// maxRemoved is the maximum number of versions that are locked and removed together.
const maxRemoved = 50

// v0 stands for any version.
var v0 = addrs.MustParseVersion("0.0.0")

// allVersions returns all versions that have a file or are in an index.
func (m *Mirror) allVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	seen := map[addrs.Version]bool{}
	for _, dir := range documentDirs(p) {
		f, err := m.listFiles(ctx, p, dir)
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

// removeVersions removes versions. They are sorted, so that concurrent calls lock them in one order.
func (m *Mirror) removeVersions(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	for _, v := range versions {
		unlock, err := m.lockVersion(ctx, p, v)
		if err != nil {
			return err
		}
		defer unlock()
	}
	return m.publish(ctx, p, versions, publishOptions{removeFiles: func(ctx context.Context, f *files) error {
		// Records go first: an archive without a record is not listed again.
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
