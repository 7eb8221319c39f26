package mirrordir

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// index makes the list of the versions of a provider.
func (h *Handler) index(ctx context.Context, p addrs.Provider) ([]byte, error) {
	doc := struct {
		Versions map[string]struct{} `json:"versions"`
	}{map[string]struct{}{}}
	if c, ok := h.Source.(catalogue); ok {
		versions, err := c.archiveVersions(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			doc.Versions[v.String()] = struct{}{}
		}
		return encode(doc)
	}
	versions, err := h.versions(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, r := range versions.List {
		doc.Versions[r.Version.String()] = struct{}{}
	}
	return encode(doc)
}

// versions asks the source.
func (h *Handler) versions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if err := h.asking.take(ctx); err != nil {
		return nil, err
	}
	defer h.asking.give()
	return h.Source.ProviderVersions(ctx, p)
}

// version makes the list of the archives of a version.
func (h *Handler) version(ctx context.Context, p addrs.Provider, v addrs.Version) ([]byte, error) {
	var hashes map[addrs.Platform][]verify.Hash
	var err error
	if c, ok := h.Source.(catalogue); ok {
		hashes, err = c.archiveHashes(ctx, p, v)
	} else {
		s := &statement{Handler: h, pkg: provider.Package{Provider: p, Version: v}}
		hashes, err = s.make(ctx)
	}
	if err != nil {
		return nil, err
	}
	doc := struct {
		Archives map[string]listed `json:"archives"`
	}{map[string]listed{}}
	for platform, list := range hashes {
		name := archiveName(p, packageKey{v, platform})
		doc.Archives[platform.String()] = listed{Hashes: list, URL: urlOf(".", name)}
	}
	return encode(doc)
}
