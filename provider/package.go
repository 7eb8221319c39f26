package provider

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Package describes the package of a provider version for one platform. It can be stored as JSON. A presigned query in
// its URLs may be as secret as a password.
type Package struct {
	Provider addrs.Provider `json:"provider"` // as requested
	Version  addrs.Version  `json:"version"`  // as requested
	Platform addrs.Platform `json:"platform"` // as requested

	Protocols []string `json:"protocols,omitempty"` // plugin protocol versions, such as "5.1" or "6"; empty if unknown

	Filename string `json:"filename,omitempty"` // in the SHA256SUMS document; for a local file, see [Package.ArchiveName]

	URL string `json:"url,omitempty"` // of the archive; empty if Dir is set

	Size   int64         `json:"size,omitempty"`  // stated, of the archive, in bytes; or 0
	SHA256 checksum.Hash `json:"sha256,omitzero"` // stated zh of the archive, or zero

	// SumsURL and SignatureURL name the SHA256SUMS document and its signature, if any.
	SumsURL      string `json:"sums_url,omitempty"`
	SignatureURL string `json:"signature_url,omitempty"`

	Keys []verify.Key `json:"keys,omitempty"` // that may sign this version

	MustBeSigned bool `json:"must_be_signed,omitempty"` // unless the policy accepts the package by its hash

	Hashes map[addrs.Platform][]checksum.Hash `json:"hashes,omitempty"` // stated, perhaps also for other platforms

	Attestations []string `json:"attestations,omitempty"` // Sigstore bundles in JSON about the archive

	AttestationError error `json:"-"` // why there are no Attestations; fails packages whose policy demands them

	FromRegistry bool `json:"from_registry,omitempty"` // of the provider's host; see [verify.Report.Stated]

	Dir string `json:"dir,omitempty"` // of an unpacked package

	Via []string `json:"via,omitempty"` // name of the [NamedSource] in each [Multi] that found the package, outermost first
}

// ArchiveName returns terraform-provider-TYPE_VERSION_OS_ARCH.zip, a safe file name.
func (p *Package) ArchiveName() string {
	return archivePrefix + stem(p.Provider, p.Version.String(), p.Platform) + archiveSuffix
}

// String returns the provider, the version, and the platform if set.
func (p *Package) String() string {
	if p == nil {
		return "no package"
	}
	return cmp.Or(strings.TrimSpace(p.Provider.String()+" "+p.Version.String()+" "+p.Platform.String()), "no package")
}

// Evidence returns what the package states, without Sums and Signature.
func (p *Package) Evidence() verify.Evidence {
	ev := verify.Evidence{
		Filename:         p.Filename,
		Size:             p.Size,
		Hashes:           hashlist.Sorted(p.Hashes[p.Platform], []checksum.Hash{p.SHA256}),
		Keys:             slices.Clone(p.Keys),
		MustBeSigned:     p.MustBeSigned,
		Attestations:     slices.Clone(p.Attestations),
		AttestationError: p.AttestationError,
		Requested:        p.requested(),
	}
	if p.FromRegistry {
		ev.Registry = p.Provider.Host().String()
	}
	for _, platform := range slices.SortedFunc(maps.Keys(p.Hashes), addrs.Platform.Compare) {
		hashes := p.Hashes[platform]
		ev.OthersStated = ev.OthersStated || platform != p.Platform && len(hashes) > 0
		if p.FromRegistry {
			ev.Packages = append(ev.Packages, slices.Clone(hashes))
		}
	}
	return ev
}

// requested returns TYPE_VERSION_OS_ARCH. VERSION is the text in the name of the archive if that
// is the same version: a registry that lists "1.0" uses it in names.
func (p *Package) requested() string {
	_, rest, _ := strings.Cut(p.Filename, "_")
	after := "_" + p.Platform.String()
	spelled, ok := strings.CutSuffix(strings.TrimPrefix(rest, "v"), after+archiveSuffix)
	if v, err := addrs.ParseVersion(spelled); ok && err == nil && v == p.Version {
		return stem(p.Provider, spelled, p.Platform)
	}
	return stem(p.Provider, p.Version.String(), p.Platform)
}

// Clone returns a deep copy.
func (p *Package) Clone() *Package {
	if p == nil {
		return nil
	}
	c := *p
	c.Protocols = slices.Clone(p.Protocols)
	c.Keys = slices.Clone(p.Keys)
	c.Via = slices.Clone(p.Via)
	c.Attestations = slices.Clone(p.Attestations)
	c.Hashes = maps.Clone(p.Hashes)
	for platform, hashes := range c.Hashes {
		c.Hashes[platform] = slices.Clone(hashes)
	}
	return &c
}

const (
	archivePrefix = "terraform-provider-"
	archiveSuffix = ".zip"

	nonceLength = 26 // of crypto/rand.Text
	nonceDigits = "abcdefghijklmnopqrstuvwxyz234567"
)

// stem returns TYPE_VERSION_OS_ARCH.
func stem(p addrs.Provider, version string, platform addrs.Platform) string {
	return p.Type() + "_" + version + "_" + platform.String()
}

var errNoArchive = errors.New("not the name of an archive")

// ParseArchiveName parses a name that [Package.ArchiveName] returns. It ignores case, except in the version, and a fifth
// part of 26 letters and digits, as in object stores. The error is an [*addrs.ParseError], unless name lacks the prefix
// or the suffix.
func ParseArchiveName(p addrs.Provider, name string) (v addrs.Version, platform addrs.Platform, err error) {
	middle, ok := cutFold(name)
	if !ok {
		return v, platform, errNoArchive
	}
	invalid := func(reason string) (addrs.Version, addrs.Platform, error) {
		return v, platform, &addrs.ParseError{Kind: "archive name", Input: fault.Shown(name, 200), Reason: reason}
	}
	parts := strings.Split(middle, "_")
	if len(parts) == 5 && len(parts[4]) == nonceLength && strings.Trim(strings.ToLower(parts[4]), nonceDigits) == "" {
		parts = parts[:4]
	}
	switch {
	case len(parts) != 4:
		return invalid("it is not of the form terraform-provider-TYPE_VERSION_OS_ARCH.zip")
	case !strings.EqualFold(parts[0], p.Type()):
		return invalid("it is of another provider")
	}
	// Unlike the CLI, this keeps the case: 1.0.0-RC1 is not 1.0.0-rc1.
	version, err := addrs.ParseVersion(parts[1])
	if err != nil {
		return invalid("it has an invalid version")
	}
	on, err := addrs.NewPlatform(strings.ToLower(parts[2]), strings.ToLower(parts[3]))
	if err != nil {
		return invalid("it has an invalid platform")
	}
	return version, on, nil
}

// cutFold removes the prefix and the suffix of the name of an archive, in any case.
func cutFold(name string) (middle string, ok bool) {
	end := len(name) - len(archiveSuffix)
	if end < len(archivePrefix) || !strings.EqualFold(name[:len(archivePrefix)], archivePrefix) || !strings.EqualFold(name[end:], archiveSuffix) {
		return "", false
	}
	return name[len(archivePrefix):end], true
}
