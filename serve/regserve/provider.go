package regserve

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/regwire"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/verify"
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

// provider returns the provider in the path of a request.
func (h *Handler) provider(r *http.Request) (addrs.Provider, error) {
	namespace, typ := r.PathValue("namespace"), r.PathValue("type")
	p, err := addrs.ParseNamespacedProviderIn(h.Host, namespace+"/"+typ)
	if err != nil || p.Namespace() != namespace || p.Type() != typ {
		return addrs.Provider{}, webserve.ErrPath
	}
	return p, nil
}

// pkg returns the requested package, and the digest for URLs of its files.
func (h *Handler) pkg(r *http.Request, of access.Entry) (pkg *provider.Package, digest string, err error) {
	pkg, digest, err = h.packages.find(r, h.server.Guard.Required(), of, func(ctx context.Context) (*provider.Package, error) {
		return h.providers.ProviderPackage(ctx, of.Provider, of.Version, of.Platform)
	})
	return pkg.Clone(), digest, err
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
	platform = regwire.Platform
)

func (h *Handler) providerVersions(r *http.Request, of access.Entry) (any, error) {
	webserve.Note(r.Context(), webserve.Asked)
	versions, err := h.providers.ProviderVersions(r.Context(), of.Provider)
	if err != nil {
		return nil, err
	}
	doc := versionsDocument{Versions: make([]release, 0, len(versions.Versions)), Warnings: versions.Warnings}
	for _, listed := range versions.Versions {
		rel := release{Version: listed.Version.String(), Protocols: listed.Protocols, Platforms: []platform{}, Discovered: listed.Discovered}
		for _, on := range listed.Platforms {
			rel.Platforms = append(rel.Platforms, platform{OS: on.OS(), Arch: on.Arch()})
		}
		doc.Versions = append(doc.Versions, rel)
	}
	return doc, nil
}

func (h *Handler) providerPackage(r *http.Request, of access.Entry) (any, error) {
	pkg, digest, err := h.pkg(r, of)
	if err != nil {
		return nil, err
	}
	direct := h.SourceURLs && isHTTPS(pkg.URL) && isHTTPS(pkg.SumsURL) && isHTTPS(pkg.SignatureURL)
	if !direct || pkg.SHA256.IsZero() || len(pkg.Keys) == 0 {
		ev, err := h.evidence(r, pkg)
		if err != nil {
			return nil, err
		}
		pkg.Keys = ev.Keys
		if pkg.SHA256.IsZero() {
			sums, err := verify.ParseSums(ev.Sums)
			if err != nil {
				return nil, err
			}
			if pkg.SHA256, _ = sums.Lookup(ev.Filename); pkg.SHA256.IsZero() {
				return nil, fmt.Errorf("%w: %q", verify.ErrNotListed, ev.Filename)
			}
		}
	}
	if !direct {
		pkg.URL = h.fileURL(r, r.URL.Path+"/"+archiveName, digest)
		pkg.SumsURL = h.fileURL(r, r.URL.Path+"/"+sumsName, digest)
		pkg.SignatureURL = h.fileURL(r, r.URL.Path+"/"+signatureName, digest)
	}
	return regwire.Describe(pkg), nil
}

// isHTTPS reports whether text is a URL that clients can request without a secret of this server.
func isHTTPS(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil
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
func (h *Handler) file(part func(verify.Evidence) []byte) finder[[]byte] {
	return func(r *http.Request, of access.Entry) ([]byte, error) {
		pkg, _, err := h.pkg(r, of)
		if err != nil {
			return nil, err
		}
		ev, err := h.evidence(r, pkg)
		return part(ev), err
	}
}
