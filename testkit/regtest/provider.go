package regtest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A Provider is one version of a provider. Only Address is required.
type Provider struct {
	Address string // such as "acme/alpha"; the [Registry] also answers for a host in it

	Version   string   // any text; if empty, "1.0.0"
	Platforms []string // such as "linux_amd64"; if nil, amd64 and arm64 of darwin and linux, and windows_amd64
	Protocols []string // plugin protocols; if nil, "5.0"
	Warnings  []string // in the list of versions

	Discovered string // any text for the date in the list; if empty, none

	Size int64 // of the executable in bytes, under 4 GiB, not held in memory; if zero, small

	Files   map[string]string // further files by name, as in [Module]
	Deflate bool              // compress; the digest depends on the version of Go

	Zip  []byte            // for all platforms, instead of Size, Files and Deflate
	Zips map[string][]byte // by platform, before Zip

	PackageHashes bool                     // OpenTofu's property "packages"
	NoSums        bool                     // no SHA256SUMS and signature, with empty URLs
	EditSums      func(sums []byte) []byte // returns the document to serve and sign

	Keys     []*Key // listed keys; if nil, the key of the registry
	SignedBy *Key   // if nil, the first listed key

	Origin string // of files; if empty, the registry

	// URLs is the form of URLs of files: "absolute" (the default), "root-relative" (/releases/….zip), "relative"
	// (../../releases/….zip) or "opaque" (/get?id=…). With an Origin, all except "opaque" are "absolute".
	URLs string
}

// A Release is a version of a provider.
type Release struct {
	p         Provider // with defaults
	provider  addrs.Provider
	name      string // TYPE_VERSION
	dir       string // among the releases of the provider
	archives  map[string]func() *archive
	sums      func() []byte
	signature func() []byte
}

func newRelease(r *Registry, p Provider) *Release {
	address, err := addrs.ParseProviderIn(r.host, p.Address)
	if err != nil {
		panic(fmt.Sprintf("regtest: AddProvider: %v", err))
	}
	if p.Version == "" {
		p.Version = "1.0.0"
	}
	if p.Platforms == nil {
		p.Platforms = []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"}
	}
	if p.Protocols == nil {
		p.Protocols = []string{"5.0"}
	}
	if err := p.check(); err != nil {
		panic(fmt.Sprintf("regtest: AddProvider: %v", err))
	}
	p.Platforms, p.Protocols = slices.Clone(p.Platforms), slices.Clone(p.Protocols)
	p.Warnings, p.Keys, p.Files = slices.Clone(p.Warnings), slices.Clone(p.Keys), maps.Clone(p.Files)
	p.Zips = maps.Clone(p.Zips)
	rel := &Release{p: p, provider: address, archives: map[string]func() *archive{}}
	rel.name = address.Type() + "_" + fileName(canonical(p.Version))
	rel.buildArchives()
	rel.sums = sync.OnceValue(rel.makeSums)
	rel.signature = sync.OnceValue(func() []byte { return signer(r, p).sign(rel.sums()) })
	return rel
}

// check returns why p cannot be served.
func (p *Provider) check() error {
	if err := checkSizes(p.Size, p.Files); err != nil {
		return err
	}
	for _, platform := range p.Platforms {
		if !strings.Contains(platform, "_") {
			return fmt.Errorf("platform %q is not in the form OS_ARCH", platform)
		}
	}
	for platform := range p.Zips {
		if !slices.Contains(p.Platforms, platform) {
			return fmt.Errorf("platform %q of Zips is not in Platforms", platform)
		}
	}
	return checkLink(p.Origin, p.URLs)
}

// checkSizes returns why a zip archive cannot hold the files.
func checkSizes(size int64, files map[string]string) error {
	const maxSize = 1<<32 - 1<<20 // of an entry that needs no zip64, with room for the rest
	if size < 0 || size > maxSize {
		return fmt.Errorf("a size of %d is not between 0 and %d", size, int64(maxSize))
	}
	for name := range files {
		if len(name) > 1<<16-1 {
			return fmt.Errorf("the name of a file has %d bytes, more than zip can hold", len(name))
		}
	}
	return nil
}

// Filename returns the name of the archive.
func (rel *Release) Filename(platform string) string {
	return "terraform-provider-" + rel.name + "_" + platform + ".zip"
}

// Archive returns a new reader of the archive.
func (rel *Release) Archive(platform string) *io.SectionReader {
	a := rel.archive(platform)
	return io.NewSectionReader(a.content, 0, a.size)
}

// ZH returns the zh.
func (rel *Release) ZH(platform string) checksum.Hash {
	return checksum.ZHSum(rel.archive(platform).sum())
}

// H1 returns the h1, or the zero Hash if the archive is invalid.
func (rel *Release) H1(platform string) checksum.Hash { return rel.archive(platform).h1() }

// Sums returns the SHA256SUMS document after EditSums, even with NoSums.
func (rel *Release) Sums() []byte { return slices.Clone(rel.sums()) }

// Signature returns the signature of Sums.
func (rel *Release) Signature() []byte { return slices.Clone(rel.signature()) }

func (rel *Release) has(platform string) bool { return rel.archives[platform] != nil }

func (rel *Release) archive(platform string) *archive {
	build := rel.archives[platform]
	if build == nil {
		panic(fmt.Sprintf("regtest: %s %q has no platform %q", rel.provider, rel.p.Version, platform))
	}
	return build()
}

// signer returns the key that signs p.
func signer(r *Registry, p Provider) *Key {
	switch {
	case p.SignedBy != nil:
		return p.SignedBy
	case len(p.Keys) > 0:
		return p.Keys[0]
	}
	return r.Key()
}

func (rel *Release) makeSums() []byte {
	var lines []string
	for platform := range rel.archives {
		sum := rel.archive(platform).sum()
		lines = append(lines, fmt.Sprintf("%x  %s\n", sum, rel.Filename(platform)))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	doc := []byte(strings.Join(lines, ""))
	if rel.p.EditSums != nil {
		doc = rel.p.EditSums(doc)
	}
	return doc
}

// canonical returns the version in canonical form, or unchanged if it is invalid.
func canonical(version string) string {
	v, err := addrs.ParseVersion(version)
	if err != nil {
		return version
	}
	return v.String()
}

// fileName returns a valid name of a file for any text.
func fileName(s string) string {
	s = s[:min(len(s), 100)]
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '+':
			return c
		}
		return '_'
	}, s)
}

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

		Discovered string `json:"discovered,omitempty"`
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
		e := versionEntry{Version: rel.p.Version, Protocols: rel.p.Protocols, Platforms: []platform{}, Discovered: rel.p.Discovered}
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
		if rel.p.URLs == "opaque" {
			doc.SignatureURL = rel.link(c, rel.sumsName()+".sig")
		}
	}
	for _, key := range keys {
		doc.SigningKeys.GPG = append(doc.SigningKeys.GPG, signingKey{ID: key.Public().ID, Armor: key.armor})
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
