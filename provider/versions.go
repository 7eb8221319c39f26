package provider

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// Release is one listed version of a provider.
type Release struct {
	Version addrs.Version `json:"version"` // canonical, once in a list

	// Listed is the text that the source lists for Version, if it is not the canonical form,
	// for example "v1.2".
	Listed string `json:"listed,omitempty"`

	// Protocols are plugin protocol versions, such as "5.1" or "6": the highest minor version
	// of each major version. If empty, they are unknown.
	Protocols []string `json:"protocols,omitempty"`

	// Platforms are the platforms that have a package. If empty, they are unknown.
	Platforms []addrs.Platform `json:"platforms,omitempty"`
}

// Versions lists the versions of a provider.
type Versions struct {
	Provider addrs.Provider `json:"provider"` // as requested

	// List has each version once, usually newest first. Releases may share memory: replace
	// their Protocols and Platforms, do not write to them.
	List []Release `json:"versions"`

	// Warnings are messages of the source, and descriptions of ignored parts of its answer. They
	// are safe to print.
	Warnings []string `json:"warnings,omitempty"`
}

// String returns the provider and its versions, in the order of List.
func (v *Versions) String() string {
	list := make([]string, len(v.List))
	for i, r := range v.List {
		list[i] = r.Version.String()
	}
	return v.Provider.String() + ": " + cmp.Or(strings.Join(list, ", "), "no versions")
}

// Clone returns a copy whose List and Warnings may be changed.
func (v *Versions) Clone() *Versions {
	if v == nil {
		return nil
	}
	c := *v
	c.List = slices.Clone(v.List)
	c.Warnings = slices.Clone(v.Warnings)
	return &c
}

// Find returns the release of a version.
func (v *Versions) Find(version addrs.Version) (Release, bool) {
	i := slices.IndexFunc(v.List, func(r Release) bool { return r.Version == version })
	if i < 0 {
		return Release{}, false
	}
	return v.List[i], true
}
