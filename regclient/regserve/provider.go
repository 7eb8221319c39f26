package regserve

import (
	"fmt"
	"net/http"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/regwire"
	"github.com/tofureg/tofureg/internal/webserve"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The names of files below the path of a package.
const (
	sumsName      = "SHA256SUMS"
	signatureName = "SHA256SUMS.sig"
	archiveName   = "archive.zip"
)

// host returns the host of the addresses for the sources.
func (h *Handler) host() string {
	if h.Host.IsZero() {
		return addrs.DefaultHost().Display()
	}
	return h.Host.Display()
}

// provider returns the provider in the path of a request, which must be canonical, so that
// each document has one URL.
func (h *Handler) provider(r *http.Request) (addrs.Provider, error) {
	namespace, typ := r.PathValue("namespace"), r.PathValue("type")
	p, err := addrs.ParseNamespacedProviderIn(h.Host, namespace+"/"+typ)
	if err != nil || p.Namespace() != namespace || p.Type() != typ {
		return addrs.Provider{}, webserve.ErrPath
	}
	return p, nil
}

func version(r *http.Request, parse func(string) (addrs.Version, error)) (addrs.Version, error) {
	text := r.PathValue("version")
	v, err := parse(text)
	if err != nil || v.String() != text {
		return addrs.Version{}, webserve.ErrPath
	}
	return v, nil
}

// pkg returns the requested package.
func (h *Handler) pkg(r *http.Request) (*provider.Package, error) {
	p, err := h.provider(r)
	if err != nil {
		return nil, err
	}
	v, err := version(r, addrs.ParseVersion)
	if err != nil {
		return nil, err
	}
	platform, err := addrs.ParsePlatform(r.PathValue("os") + "_" + r.PathValue("arch"))
	if err != nil {
		return nil, webserve.ErrPath
	}
	return h.providers.ProviderPackage(r.Context(), p, v, platform)
}

type (
	versionsDocument struct {
		Versions []release `json:"versions"`
		Warnings []string  `json:"warnings,omitempty"`
	}
	release struct {
		Version    string     `json:"version"`
		Protocols  []string   `json:"protocols,omitempty"`
		Platforms  []platform `json:"platforms"`
		Discovered time.Time  `json:"discovered,omitzero"`
	}
	platform        = regwire.Platform
	packageDocument = regwire.Package
	signingKey      = regwire.Key
	packageHashes   = regwire.Hashes
)

func (h *Handler) providerVersions(r *http.Request) (any, error) {
	p, err := h.provider(r)
	if err != nil {
		return nil, err
	}
	versions, err := h.providers.ProviderVersions(r.Context(), p)
	if err != nil {
		return nil, err
	}
	doc := versionsDocument{Versions: make([]release, 0, len(versions.List)), Warnings: versions.Warnings}
	for _, listed := range versions.List {
		rel := release{Version: listed.Version.String(), Protocols: listed.Protocols, Platforms: []platform{}, Discovered: listed.Discovered}
		for _, on := range listed.Platforms {
			rel.Platforms = append(rel.Platforms, platform{OS: on.OS(), Arch: on.Arch()})
		}
		doc.Versions = append(doc.Versions, rel)
	}
	return doc, nil
}

func (h *Handler) providerPackage(r *http.Request) (any, error) {
	pkg, err := h.pkg(r)
	if err != nil {
		return nil, err
	}
	ev, err := h.evidence(r, pkg)
	if err != nil {
		return nil, err
	}
	zh := pkg.SHA256
	if zh.IsZero() {
		sums, err := verify.ParseSums(ev.Sums)
		if err != nil {
			return nil, err
		}
		if zh, _ = sums.Lookup(ev.Filename); zh.IsZero() {
			return nil, fmt.Errorf("%w: %q", verify.ErrNotListed, ev.Filename)
		}
	}
	doc := packageDocument{
		Protocols: pkg.Protocols, OS: pkg.Platform.OS(), Arch: pkg.Platform.Arch(),
		Filename: pkg.Filename, Shasum: zh.Value(),
		DownloadURL:  h.fileURL(r, r.URL.Path+"/"+archiveName),
		SumsURL:      h.fileURL(r, r.URL.Path+"/"+sumsName),
		SignatureURL: h.fileURL(r, r.URL.Path+"/"+signatureName),
	}
	var keys []signingKey
	for _, key := range ev.Keys {
		keys = append(keys, signingKey{ID: keyID(key), Armor: key.Armor, TrustSignature: key.TrustSignature, Source: key.Source, SourceURL: key.SourceURL})
	}
	doc.SigningKeys = map[string][]signingKey{"gpg_public_keys": keys}
	// OpenTofu refuses a document that states hashes, but not the zh and the size of this package.
	if own := pkg.Hashes[pkg.Platform]; len(own) > 0 && pkg.Size > 0 {
		doc.Packages = map[string]packageHashes{}
		for on, hashes := range pkg.Hashes {
			doc.Packages[on.String()] = packageHashes{Hashes: hashes}
		}
		doc.Packages[pkg.Platform.String()] = packageHashes{Hashes: checksum.Sorted(own, []checksum.Hash{zh}), Size: pkg.Size}
	}
	return doc, nil
}

// keyID returns the stated ID of a key, or its real ID.
func keyID(key verify.Key) string {
	if key.ID != "" {
		return key.ID
	}
	infos, err := key.Info()
	if err != nil || len(infos) == 0 {
		return ""
	}
	return infos[0].ID
}

// evidence returns the evidence for the package. Clients require all its parts.
func (h *Handler) evidence(r *http.Request, pkg *provider.Package) (verify.Evidence, error) {
	if pkg.Dir != "" {
		return verify.Evidence{}, provider.ErrUnpacked
	}
	ev, err := h.providers.Evidence(r.Context(), pkg)
	err = webserve.AsInconsistent(err)
	if err == nil && (len(ev.Sums) == 0 || len(ev.Signature) == 0 || len(ev.Keys) == 0) {
		err = fmt.Errorf("%s: %w: the source has no SHA256SUMS document, signature or key", pkg, verify.ErrUnsigned)
	}
	return ev, err
}

// file returns a function that returns a document that proves a package.
func (h *Handler) file(part func(verify.Evidence) []byte) func(*http.Request) ([]byte, error) {
	return func(r *http.Request) ([]byte, error) {
		pkg, err := h.pkg(r)
		if err != nil {
			return nil, err
		}
		ev, err := h.evidence(r, pkg)
		return part(ev), err
	}
}
