package provider

import (
	"maps"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Package says where one provider package is and what its source states about
// it: one provider, in one version, for one platform. It is plain data; its
// JSON form can be stored and read back.
//
// Nothing in it is proof. The hashes and keys are the word of the source;
// [Download] compares them with the bytes and judges them by a policy.
//
// The URLs may carry a presigned query, which works like a password. String
// leaves them out; the JSON form keeps them.
type Package struct {
	Provider addrs.Provider `json:"provider"` // that was asked for
	Version  addrs.Version  `json:"version"`  // likewise, in canonical form
	Platform addrs.Platform `json:"platform"` // likewise

	// Protocols are the plugin protocol versions that the package speaks, as
	// "5.1" or "6". Empty means unknown, which is no fault.
	Protocols []string `json:"protocols,omitempty"`

	// Filename is the name of the archive in the SHA256SUMS document, as the
	// source states it. It only finds a line there; files on disk are named
	// by [Package.ArchiveName].
	Filename string `json:"filename,omitempty"`

	// URL is where the archive is. It is empty if and only if Dir is set.
	URL string `json:"url,omitempty"`

	// Size is the stated size of the archive in bytes; 0 means not stated.
	Size int64 `json:"size,omitempty"`

	// SHA256 is the stated hash of the archive, of scheme zh; zero means not
	// stated.
	SHA256 checksum.Hash `json:"sha256,omitzero"`

	// SumsURL and SignatureURL are where the SHA256SUMS document and the
	// detached signature over it are. Empty means that the source has none.
	SumsURL      string `json:"sums_url,omitempty"`
	SignatureURL string `json:"signature_url,omitempty"`

	// Keys are the keys that the source says may sign this version.
	Keys []verify.Key `json:"keys,omitempty"`

	// MustBeSigned refuses the package without a signature of one of the keys, unless the
	// policy has accepted hashes; see [verify.Evidence.MustBeSigned].
	MustBeSigned bool `json:"must_be_signed,omitempty"`

	// Hashes are the stated hashes by platform: more than one platform if the
	// source answers for them too. See the "packages" property of the provider
	// registry protocol, and "hashes" of the network mirror protocol.
	Hashes map[addrs.Platform][]checksum.Hash `json:"hashes,omitempty"`

	// Dir is the directory of a package that its source holds unpacked. There
	// is no archive then.
	Dir string `json:"dir,omitempty"`

	// Via names the method that answered, where several were asked; otherwise
	// empty.
	Via string `json:"via,omitempty"`
}

// ArchiveName returns [ArchiveName] of the provider, version and platform.
func (p *Package) ArchiveName() string {
	return ArchiveName(p.Provider, p.Version, p.Platform)
}

// String returns the provider, the version and the platform, for people.
func (p *Package) String() string {
	if p == nil {
		return "no package"
	}
	return p.Provider.String() + " " + p.Version.String() + " " + p.Platform.String()
}

// Evidence returns what the package itself states, in the form that
// [verify.Policy.Judge] reads. Sums and Signature are nil: a [Fetcher] fetches
// them.
func (p *Package) Evidence() verify.Evidence {
	return verify.Evidence{
		Filename:     p.Filename,
		Size:         p.Size,
		Hashes:       checksum.Sorted(p.Hashes[p.Platform], []checksum.Hash{p.SHA256}),
		OthersStated: p.statesOthers(),
		Keys:         slices.Clone(p.Keys),
		MustBeSigned: p.MustBeSigned,
		Want:         p.want(),
	}
}

// statesOthers reports whether the source states hashes for other platforms.
func (p *Package) statesOthers() bool {
	for platform, hashes := range p.Hashes {
		if platform != p.Platform && len(hashes) > 0 {
			return true
		}
	}
	return false
}

// want returns TYPE_VERSION_OS_ARCH with the version as the name of the archive spells
// it, if that is the same version: a registry that lists "1.0" names its archives so.
func (p *Package) want() string {
	_, rest, _ := strings.Cut(p.Filename, "_")
	after := "_" + p.Platform.String()
	spelled, ok := strings.CutSuffix(strings.TrimPrefix(rest, "v"), after+archiveSuffix)
	if v, err := addrs.ParseVersion(spelled); ok && err == nil && v == p.Version {
		return stem(p.Provider, spelled, p.Platform)
	}
	return stem(p.Provider, p.Version.String(), p.Platform)
}

// Clone returns a copy that shares no memory with p.
func (p *Package) Clone() *Package {
	if p == nil {
		return nil
	}
	c := *p
	c.Protocols = slices.Clone(p.Protocols)
	c.Keys = slices.Clone(p.Keys)
	c.Hashes = maps.Clone(p.Hashes)
	for platform, hashes := range c.Hashes {
		c.Hashes[platform] = slices.Clone(hashes)
	}
	return &c
}
