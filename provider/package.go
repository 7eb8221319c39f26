package provider

import (
	"maps"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Package describes the package of a provider version for one platform. It is plain data and
// can be stored as JSON. Hashes and keys are statements of the source, not proof.
//
// The URLs may have a presigned query, which is as secret as a password. The JSON form
// contains it, String does not.
type Package struct {
	Provider addrs.Provider `json:"provider"` // as requested
	Version  addrs.Version  `json:"version"`  // as requested
	Platform addrs.Platform `json:"platform"` // as requested

	// Protocols are plugin protocol versions, such as "5.1" or "6". If empty, they are
	// unknown.
	Protocols []string `json:"protocols,omitempty"`

	// Filename is the name of the archive in the SHA256SUMS document, not of a local file; see
	// [Package.ArchiveName].
	Filename string `json:"filename,omitempty"`

	// URL is the URL of the archive. It is empty if Dir is set.
	URL string `json:"url,omitempty"`

	// Size is the stated size of the archive in bytes, or 0.
	Size int64 `json:"size,omitempty"`

	// SHA256 is the stated zh hash of the archive, or zero.
	SHA256 checksum.Hash `json:"sha256,omitzero"`

	// SumsURL and SignatureURL are the URLs of the SHA256SUMS document and its signature. They
	// are empty if there is no such file.
	SumsURL      string `json:"sums_url,omitempty"`
	SignatureURL string `json:"signature_url,omitempty"`

	// Keys are the keys that may sign this version.
	Keys []verify.Key `json:"keys,omitempty"`

	// MustBeSigned requires a signature by one of the keys, unless the policy accepts the
	// package by its hash.
	MustBeSigned bool `json:"must_be_signed,omitempty"`

	// Hashes are the stated hashes by platform, sometimes also for other platforms.
	Hashes map[addrs.Platform][]checksum.Hash `json:"hashes,omitempty"`

	// FromRegistry says that the registry of the provider's host describes the package, and no
	// mirror. A lock file may record hashes that it states; see [verify.Report.Stated].
	FromRegistry bool `json:"from_registry,omitempty"`

	// Dir is the directory of an unpacked package, which has no archive.
	Dir string `json:"dir,omitempty"`

	// Via is the name of the [Method] that found the package, which also fetches its files.
	Via string `json:"via,omitempty"`
}

// ArchiveName returns the result of the function [ArchiveName].
func (p *Package) ArchiveName() string {
	return ArchiveName(p.Provider, p.Version, p.Platform)
}

// String returns the provider, the version and the platform.
func (p *Package) String() string {
	if p == nil {
		return "no package"
	}
	return p.Provider.String() + " " + p.Version.String() + " " + p.Platform.String()
}

// Evidence returns what the package states, without Sums and Signature.
func (p *Package) Evidence() verify.Evidence {
	return verify.Evidence{
		Filename:     p.Filename,
		Size:         p.Size,
		Hashes:       checksum.Sorted(p.Hashes[p.Platform], []checksum.Hash{p.SHA256}),
		OthersStated: p.statesOthers(),
		Packages:     p.recordedByCLI(),
		Keys:         slices.Clone(p.Keys),
		MustBeSigned: p.MustBeSigned,
		Requested:    p.want(),
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

// recordedByCLI returns the stated hashes that OpenTofu records without proof: those of its own
// registry.
func (p *Package) recordedByCLI() (lists [][]checksum.Hash) {
	if !p.FromRegistry || p.Provider.Host() != addrs.DefaultHost() {
		return nil
	}
	for _, platform := range slices.SortedFunc(maps.Keys(p.Hashes), addrs.Platform.Compare) {
		lists = append(lists, slices.Clone(p.Hashes[platform]))
	}
	return lists
}

// want returns TYPE_VERSION_OS_ARCH. VERSION is the text in the name of the archive if that
// is the same version: a registry that lists "1.0" uses it in names.
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
