package regtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The documents of the provider registry protocol.
type (
	versionList struct {
		Versions []versionEntry `json:"versions"`
		Warnings []string       `json:"warnings,omitempty"`
	}
	versionEntry struct {
		Version   string     `json:"version"`
		Protocols []string   `json:"protocols"`
		Platforms []platform `json:"platforms"`
	}
	platform struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	}
	packageMetadata struct {
		Protocols []string `json:"protocols"`
		platform
		Filename     string                   `json:"filename"`
		DownloadURL  string                   `json:"download_url"`
		SumsURL      string                   `json:"shasums_url"`
		SignatureURL string                   `json:"shasums_signature_url"`
		SHA256       string                   `json:"shasum"`
		SigningKeys  signingKeys              `json:"signing_keys"`
		Packages     map[string]packageHashes `json:"packages,omitempty"`
	}
	signingKeys struct {
		GPG []signingKey `json:"gpg_public_keys"`
	}
	signingKey struct {
		ID             string `json:"key_id"`
		Armor          string `json:"ascii_armor"`
		TrustSignature string `json:"trust_signature"`
		Source         string `json:"source"`
		SourceURL      string `json:"source_url"`
	}
	packageHashes struct {
		Hashes []string `json:"hashes"`
		Size   int64    `json:"package_size"`
	}
)

func splitPlatform(s string) platform {
	os, arch, _ := strings.Cut(s, "_")
	return platform{OS: os, Arch: arch}
}

// versions returns the list of versions of a provider.
func (r *Registry) versions(t target) *answer {
	list := r.releases(t.provider)
	if len(list) == 0 {
		return failure(http.StatusNotFound)
	}
	var doc versionList
	for _, rel := range list {
		e := versionEntry{Version: rel.p.Version, Protocols: rel.p.Protocols, Platforms: []platform{}}
		for _, p := range rel.p.Platforms {
			e.Platforms = append(e.Platforms, splitPlatform(p))
		}
		doc.Versions = append(doc.Versions, e)
		doc.Warnings = append(doc.Warnings, rel.p.Warnings...)
	}
	return document(doc)
}

// metadata returns the metadata of a package.
func (r *Registry) metadata(c *call, t target) *answer {
	list := r.releases(t.provider)
	i := slices.IndexFunc(list, func(rel *Release) bool { return rel.p.Version == t.version && rel.has(t.platform) })
	if i < 0 {
		return failure(http.StatusNotFound)
	}
	rel := list[i]
	keys := rel.p.Keys
	if keys == nil {
		keys = []*Key{r.Key()}
	}
	doc := packageMetadata{
		Protocols:   rel.p.Protocols,
		platform:    splitPlatform(t.platform),
		Filename:    rel.Filename(t.platform),
		DownloadURL: rel.link(c, rel.Filename(t.platform)),
		SHA256:      fmt.Sprintf("%x", rel.archive(t.platform).sum()),
		SigningKeys: signingKeys{GPG: []signingKey{}},
	}
	if !rel.p.NoSums {
		doc.SumsURL = rel.link(c, rel.sumsName())
		doc.SignatureURL = doc.SumsURL + ".sig"
		if rel.p.URLs == Opaque {
			doc.SignatureURL = rel.link(c, rel.sumsName()+".sig")
		}
	}
	for _, key := range keys {
		doc.SigningKeys.GPG = append(doc.SigningKeys.GPG, signingKey{ID: key.ID(), Armor: key.Armor()})
	}
	if rel.p.PackageHashes {
		doc.Packages = rel.hashes()
	}
	return document(doc)
}

// hashes returns size and hashes of all packages of the version.
func (rel *Release) hashes() map[string]packageHashes {
	all := map[string]packageHashes{}
	for platform := range rel.archives {
		h := packageHashes{Size: rel.archive(platform).size}
		if h1 := rel.H1(platform); !h1.IsZero() {
			h.Hashes = append(h.Hashes, h1.String())
		}
		h.Hashes = append(h.Hashes, rel.ZH(platform).String())
		all[platform] = h
	}
	return all
}

const sumsSuffix = "_SHA256SUMS"

func (rel *Release) sumsName() string { return "terraform-provider-" + rel.name + sumsSuffix }

// link returns the URL of a file of the release.
func (rel *Release) link(c *call, file string) string {
	return link{path: rel.path(file), form: rel.p.URLs, origin: rel.p.Origin}.from(c)
}

// path returns the path of a file of the release.
func (rel *Release) path(file string) string {
	p := rel.provider
	return filesPath + escape(p.Host().String(), p.Namespace(), p.Type(), rel.dir, file)
}

// file returns a file of a release.
func (r *Registry) file(t target) *answer {
	for _, rel := range r.releases(t.provider) {
		name := rel.Filename
		if t.mirror {
			name = rel.mirrorName
		} else if rel.dir != t.dir {
			continue
		}
		switch {
		case t.file == rel.sumsName() && !rel.p.NoSums:
			return text("text/plain; charset=utf-8", rel.sums())
		case t.file == rel.sumsName()+".sig" && !rel.p.NoSums:
			return text("application/octet-stream", rel.signature())
		}
		for platform, build := range rel.archives {
			if t.file == name(platform) {
				a := build()
				return file("application/zip", a.content, a.size, a.sum())
			}
		}
	}
	return failure(http.StatusNotFound)
}
