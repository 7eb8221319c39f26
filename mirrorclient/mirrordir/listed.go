package mirrordir

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ListedVersions returns the versions of p that a network client is to see, in no order: those
// of the index, or if there is no index, those that there are archives of. The errors are those
// of [Mirror.ProviderVersions].
func (m *Mirror) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	index, err := m.readIndex(ctx, homeOf(p))
	if index != nil || err != nil {
		return slices.Collect(maps.Keys(index)), failed("list versions of", p.String(), err)
	}
	f, err := m.holds(ctx, p)
	if err != nil {
		return nil, failed("list versions of", p.String(), err)
	}
	archives := map[addrs.Version]bool{}
	for k, one := range f.packages {
		if !one.dir {
			archives[k.version] = true
		}
	}
	return slices.Collect(maps.Keys(archives)), nil
}

// readIndex returns the versions of the index in a directory, nil if there is no index.
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

// ListedArchives returns what a network client is told about the archives of a version that are
// there: the hashes that the document of the version states, which may be none. If there is no
// document, all archives are there without hashes. The errors are those of
// [Mirror.ProviderPackage].
func (m *Mirror) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	subject := Want{Provider: p, Version: v}.String()
	if hashes := m.canonicalHashes(ctx, p, v); hashes != nil {
		return hashes, nil
	}
	f, err := m.holds(ctx, p)
	if err != nil {
		return nil, failed("find", subject, err)
	}
	list, err := m.entries(ctx, homeOf(p), v)
	if err != nil {
		return nil, failed("find", subject, err)
	}
	hashes := map[addrs.Platform][]checksum.Hash{}
	for _, platform := range f.platforms(v) {
		one, entry := f.packages[packageKey{v, platform}], listed{}
		if list != nil {
			var ok bool
			if entry, ok = list[platform]; !ok {
				continue
			}
		}
		switch {
		case one.dir:
		case list == nil || resolve(homeOf(p), entry.URL) == one.name:
			hashes[platform] = entry.Hashes
		}
	}
	if len(hashes) == 0 {
		return nil, failed("find", subject, f.list(p).Unavailable(v, addrs.Platform{}))
	}
	return hashes, nil
}

// canonicalHashes returns what ListedArchives would if there is a document and all that it
// lists is there under canonical names, and nil if not.
func (m *Mirror) canonicalHashes(ctx context.Context, p addrs.Provider, v addrs.Version) map[addrs.Platform][]checksum.Hash {
	if _, ok := m.Storage.(Local); !ok || !m.hasCanonicalHome(ctx, p) {
		return nil // elsewhere a listing may be less than a request for each archive
	}
	list, err := m.entries(ctx, homeOf(p), v)
	if err != nil || len(list) == 0 {
		return nil
	}
	hashes := make(map[addrs.Platform][]checksum.Hash, len(list))
	for platform, l := range list {
		name := archivePath(p, packageKey{v, platform})
		size, err := m.size(ctx, name)
		if err != nil || size < 0 || resolve(homeOf(p), l.URL) != name {
			return nil
		}
		hashes[platform] = l.Hashes
	}
	return hashes
}
