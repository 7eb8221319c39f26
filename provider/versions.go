package provider

import (
	"slices"

	"github.com/tofureg/tofureg/addrs"
)

// Release is one listed version of a provider.
type Release struct {
	Version addrs.Version `json:"version"`

	// Protocols are the plugin protocol versions that it speaks, as "5.1" or
	// "6": the highest minor version of each major one. Empty means unknown.
	Protocols []string `json:"protocols,omitempty"`

	// Platforms are those that it has packages for. Empty means unknown.
	Platforms []addrs.Platform `json:"platforms,omitempty"`
}

// Versions is the answer to "which versions are there?".
type Versions struct {
	Provider addrs.Provider `json:"provider"`

	// List holds each version once. Sources sort it newest first. Releases may
	// share the memory of their Protocols and Platforms: do not write into
	// those, replace them.
	List []Release `json:"versions"`

	// Warnings are the words of the source for its users, made safe to print,
	// and what of the answer was unusable and left out.
	Warnings []string `json:"warnings,omitempty"`
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

// Need says what a version must bring along to be of use. The zero Need asks for
// the plugin protocols 5 and 6 and for no platform in particular.
type Need struct {
	// Platform that there must be a package for; zero: any.
	Platform addrs.Platform `json:"platform,omitzero"`

	// Protocols allows the plugin protocol versions that the caller can speak;
	// zero: ">= 5, < 7". ">= 0" takes all.
	Protocols addrs.Constraint `json:"protocols,omitzero"`
}

// Newest returns the newest version that c allows. The zero constraint allows
// every release, but no prerelease. The error is an [*UnavailableError].
func (v *Versions) Newest(c addrs.Constraint) (addrs.Version, error) { panic("stub") }

// NewestFor returns the newest version that c allows and that fits need. What
// the source did not tell about a version is taken to fit. The error is an
// [*UnavailableError], which is ErrNoVersion, ErrNoPlatform or ErrProtocol.
func (v *Versions) NewestFor(c addrs.Constraint, need Need) (addrs.Version, error) { panic("stub") }

// Fits tells whether the package speaks a protocol that need allows. The error is
// an [*UnavailableError] of kind ErrProtocol.
func (p *Package) Fits(need Need) error { panic("stub") }

// UnavailableError says that what was asked for is not on offer, and what is.
type UnavailableError struct {
	Provider   addrs.Provider
	Constraint addrs.Constraint // what was asked for
	Need       Need

	Newest    addrs.Version    // the newest listed version; zero: none is listed
	Allowed   addrs.Version    // the newest that the constraint allows; zero: none
	Protocols []string         // of Allowed; empty: unknown
	Platforms []addrs.Platform // of Allowed; empty: unknown
	Fits      addrs.Version    // the newest that fits Need, whatever the constraint; zero: none

	Err error // ErrNoVersion, ErrNoPlatform or ErrProtocol
}

func (e *UnavailableError) Error() string { panic("stub") }

// Unwrap returns the kind of the error.
func (e *UnavailableError) Unwrap() error { return e.Err }
