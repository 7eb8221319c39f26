package provider

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// Release is one listed version of a provider.
type Release struct {
	// Version is listed once, however the source writes it.
	Version addrs.Version `json:"version"`

	// Listed is the text that the source lists for Version, if that is another one than
	// Version.String, such as "v1.2".
	Listed string `json:"listed,omitempty"`

	// Protocols are the plugin protocol versions that it speaks, as "5.1" or
	// "6": the highest minor version of each major one. Empty means unknown.
	Protocols []string `json:"protocols,omitempty"`

	// Platforms are those that it has packages for. Empty means unknown.
	Platforms []addrs.Platform `json:"platforms,omitempty"`
}

// Versions is the answer to "which versions are there?".
type Versions struct {
	// Provider is whose versions these are.
	Provider addrs.Provider `json:"provider"`

	// List holds each version once. Sources sort it newest first. Releases may
	// share the memory of their Protocols and Platforms: do not write into
	// those, replace them.
	List []Release `json:"versions"`

	// Warnings are the words of the source for its users, made safe to print,
	// and what of the answer was unusable and left out.
	Warnings []string `json:"warnings,omitempty"`
}

// String returns the provider and its versions in the order of List, for people.
func (v *Versions) String() string {
	list := make([]string, len(v.List))
	for i, r := range v.List {
		list[i] = r.Version.String()
	}
	return v.Provider.String() + ": " + cmp.Or(strings.Join(list, ", "), "no versions")
}

// Clone returns a copy whose List and Warnings the caller may change. The
// copies of a release share their Protocols and Platforms.
func (v *Versions) Clone() *Versions {
	if v == nil {
		return nil
	}
	c := *v
	c.List = slices.Clone(v.List)
	c.Warnings = slices.Clone(v.Warnings)
	return &c
}

// Find returns the release of exactly this version.
func (v *Versions) Find(version addrs.Version) (Release, bool) {
	i := slices.IndexFunc(v.List, func(r Release) bool { return r.Version == version })
	if i < 0 {
		return Release{}, false
	}
	return v.List[i], true
}
