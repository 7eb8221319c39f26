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

var _ catalogue = (*Mirror)(nil)

// archiveVersions returns the versions that a network client is to see: those of the
// index, and if there is none, those that there are archives of.
func (m *Mirror) archiveVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	index, err := m.readIndex(ctx, homeOf(p))
	if index != nil || err != nil {
		return slices.Collect(maps.Keys(index)), failed("list versions of", p.String(), err)
	}
	h, err := m.holds(ctx, p)
	if err != nil {
		return nil, failed("list versions of", p.String(), err)
	}
	archives := map[addrs.Version]bool{}
	for k, one := range h.packages {
		if one.dir == "" {
			archives[k.version] = true
		}
	}
	return slices.Collect(maps.Keys(archives)), nil
}

// readIndex returns the versions of the index in a directory, nil if there is no index.
func (m *Mirror) readIndex(ctx context.Context, dir string) (map[addrs.Version]bool, error) {
	name := path.Join(dir, indexName)
	data, _, err := m.read(ctx, name)
	if err != nil || data == nil {
		return nil, err
	}
	_, versions, err := parseDocument(data, memberVersions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	list := make(map[addrs.Version]bool, len(versions))
	for text := range versions {
		if v, err := addrs.ParseVersion(text); err == nil && v.String() == text {
			list[v] = true
		}
	}
	return list, nil
}

// archiveHashes returns what is stated about the archives of a version, with nil for one
// of which nothing is: as the document of the version has it, or if there is none, as they
// lie there.
func (m *Mirror) archiveHashes(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	subject := Want{Provider: p, Version: v}.String()
	if hashes := m.canonicalHashes(ctx, p, v); hashes != nil {
		return hashes, nil
	}
	h, err := m.holds(ctx, p)
	if err != nil {
		return nil, failed("find", subject, err)
	}
	list, err := m.readListed(ctx, homeOf(p), v)
	if err != nil {
		return nil, failed("find", subject, err)
	}
	hashes := map[addrs.Platform][]checksum.Hash{}
	for _, platform := range h.platforms(v) {
		one, entry := h.packages[packageKey{v, platform}], listed{}
		if list != nil {
			var ok bool
			if entry, ok = list[platform]; !ok {
				continue
			}
		}
		switch {
		case one.dir != "":
		case list == nil || resolve(homeOf(p), entry.URL) == one.name:
			hashes[platform] = entry.Hashes
		}
	}
	if len(hashes) == 0 {
		return nil, failed("find", subject, h.list(p).Unavailable(v, addrs.Platform{}))
	}
	return hashes, nil
}
