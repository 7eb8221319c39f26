package mirrorserve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func (h *Handler) serveDocument(w http.ResponseWriter, r *http.Request, q request) error {
	return h.server.Document(w, r, "application/json", func(ctx context.Context) ([]byte, error) {
		return h.documents.Do(ctx, q.documentKey, nil, func(ctx context.Context) ([]byte, error) {
			if q.version.IsZero() {
				return h.index(ctx, q.provider)
			}
			return h.version(ctx, q.provider, q.version)
		})
	})
}

// catalogue lists versions and archives for the documents.
type catalogue interface {
	ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error)
	ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error)
}

// index returns the document that lists the versions of a provider.
func (h *Handler) index(ctx context.Context, p addrs.Provider) ([]byte, error) {
	versions, err := h.catalogue.ListedVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	list := make(map[string]struct{}, len(versions))
	for _, v := range versions {
		list[v.String()] = struct{}{}
	}
	return json.MarshalIndent(map[string]any{"versions": list}, "", "  ")
}

// version returns the document of a version.
func (h *Handler) version(ctx context.Context, p addrs.Provider, v addrs.Version) ([]byte, error) {
	hashes, err := h.catalogue.ListedArchives(ctx, p, v)
	if err != nil {
		return nil, err
	}
	type archive struct {
		Hashes []checksum.Hash `json:"hashes,omitempty"`
		URL    string          `json:"url"`
	}
	list := make(map[string]archive, len(hashes))
	for platform, hashes := range hashes {
		q := request{documentKey{p, v}, platform, true}
		list[platform.String()] = archive{hashes, url.PathEscape(provider.ArchiveName(p, v, platform)) + h.access.Query(q.name())}
	}
	return json.MarshalIndent(map[string]any{"archives": list}, "", "  ")
}

// sourceCatalogue is the catalogue of a source other than a mirror or a cache.
type sourceCatalogue struct {
	*puller
	policy verify.Policy
	common []addrs.Platform // see statement
}

func (t *sourceCatalogue) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	return listedBy(t.source.ProviderVersions(ctx, p))
}

// listedBy returns the versions in a list.
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

func (t *sourceCatalogue) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	s := &statement{puller: t.puller, policy: t.policy, common: t.common, pkg: provider.Package{Provider: p, Version: v}}
	return s.make(ctx)
}
