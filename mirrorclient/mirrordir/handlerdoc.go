package mirrordir

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// catalogue knows what the documents of a mirror are to say.
type catalogue interface {
	archiveVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error)
	archiveHashes(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error)
}

// index makes the list of the versions of a provider.
func (h *Handler) index(ctx context.Context, p addrs.Provider) ([]byte, error) {
	versions, err := h.catalogue.archiveVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	doc := struct {
		Versions map[string]struct{} `json:"versions"`
	}{make(map[string]struct{}, len(versions))}
	for _, v := range versions {
		doc.Versions[v.String()] = struct{}{}
	}
	return encode(doc)
}

// version makes the list of the archives of a version.
func (h *Handler) version(ctx context.Context, p addrs.Provider, v addrs.Version) ([]byte, error) {
	hashes, err := h.catalogue.archiveHashes(ctx, p, v)
	if err != nil {
		return nil, err
	}
	doc := struct {
		Archives map[string]listed `json:"archives"`
	}{make(map[string]listed, len(hashes))}
	for platform, list := range hashes {
		name := archiveName(p, packageKey{v, platform})
		doc.Archives[platform.String()] = listed{Hashes: list, URL: urlOf(".", name)}
	}
	return encode(doc)
}

// through is the catalogue of a source that is pulled through.
type through struct {
	*puller
	policy verify.Policy
	common []addrs.Platform // see statement
}

func (t *through) archiveVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	return listedBy(t.source.ProviderVersions(ctx, p))
}

// listedBy returns the versions of a list.
func listedBy(versions *provider.Versions, err error) ([]addrs.Version, error) {
	if err != nil {
		return nil, err
	}
	list := make([]addrs.Version, len(versions.List))
	for i, r := range versions.List {
		list[i] = r.Version
	}
	return list, nil
}

func (t *through) archiveHashes(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	s := &statement{puller: t.puller, policy: t.policy, common: t.common, pkg: provider.Package{Provider: p, Version: v}}
	return s.make(ctx)
}
