package mirrordir

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ListedVersions returns the versions in the index of p, unsorted, or all versions with archives if
// the index is missing. Unlike [Mirror.ProviderVersions], it does not look for the archives of an index.
// A damaged index is an error; without any files of p, the error wraps [provider.ErrNotFound].
func (m *Mirror) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	index, err := m.readIndex(ctx, providerDir(p))
	if index != nil || err != nil {
		return slices.Collect(maps.Keys(index)), failed("list versions of", p.String(), err)
	}
	f, err := m.packagesOf(ctx, p)
	if err != nil {
		return nil, failed("list versions of", p.String(), err)
	}
	versions := make([]addrs.Version, 0, len(f.packages))
	for v, on := range f.packages {
		if slices.ContainsFunc(slices.Collect(maps.Values(on)), func(one packageFile) bool { return !one.dir }) {
			versions = append(versions, v)
		}
	}
	return versions, nil
}

// readIndex reads the versions in the index of a directory, nil if the index is missing.
func (m *Mirror) readIndex(ctx context.Context, dir string) (map[addrs.Version]bool, error) {
	name := path.Join(dir, indexName)
	doc, err := m.read(ctx, name)
	if err != nil || doc.data == nil {
		return nil, err
	}
	i, err := parseIndex(doc.data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	list := make(map[addrs.Version]bool, len(i.Versions))
	for text := range i.Versions {
		if v, err := addrs.ParseVersion(text); err == nil && v.String() == text {
			list[v] = true
		}
	}
	return list, nil
}

// ListedArchives returns the existing archives that the document of a version lists, with the stated
// hashes, or all archives without hashes if the document is missing.
func (m *Mirror) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	hashes, err := m.listedArchives(ctx, p, v)
	return hashes, failed("find", Want{Provider: p, Version: v}.String(), err)
}

func (m *Mirror) listedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	list, listErr := m.readEntries(ctx, providerDir(p), v)
	if hashes := m.canonicalHashes(ctx, p, v, list); hashes != nil {
		return hashes, nil
	}
	f, err := m.packagesOf(ctx, p)
	if err = cmp.Or(err, listErr); err != nil {
		return nil, err
	}
	hashes := map[addrs.Platform][]checksum.Hash{}
	for platform, one := range f.packages[v] {
		entry, ok := list[platform]
		if !one.dir && (list == nil || ok && resolve(providerDir(p), entry.URL) == one.name) {
			hashes[platform] = entry.Hashes
		}
	}
	if len(hashes) == 0 {
		return nil, f.available(p).Unavailable(v, addrs.Platform{})
	}
	return hashes, nil
}

// canonicalHashes returns the hashes in the entries if all their archives exist under canonical
// names, and otherwise nil.
func (m *Mirror) canonicalHashes(ctx context.Context, p addrs.Provider, v addrs.Version, list map[addrs.Platform]listed) map[addrs.Platform][]checksum.Hash {
	if _, ok := m.Storage.(Local); !ok || len(list) == 0 || !m.prefersCanonicalDir(ctx, p) {
		return nil // one listing costs less than a request for each archive
	}
	hashes := make(map[addrs.Platform][]checksum.Hash, len(list))
	for platform, l := range list {
		name := address{p, v, platform}.archive()
		if size, err := m.fileSize(ctx, name); err != nil || size < 0 || resolve(providerDir(p), l.URL) != name {
			return nil
		}
		hashes[platform] = l.Hashes
	}
	return hashes
}
