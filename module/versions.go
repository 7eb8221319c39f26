package module

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// Release is one listed version of a module.
type Release struct {
	Version addrs.Version `json:"version"` // canonical

	// Listed is the text in the source, such as "v1.2", if it differs from Version.
	Listed string `json:"listed,omitempty"`

	Deprecated *Deprecation `json:"deprecated,omitempty"` // if not nil, advises against it; read-only
}

// Deprecation is the author's note about a version. It is safe to print.
type Deprecation struct {
	Reason string `json:"reason,omitempty"` // one or two sentences
	Link   string `json:"link,omitempty"`   // a URL with more information
}

// Versions lists the versions of a module.
type Versions struct {
	Module addrs.Module `json:"module"` // as requested

	// List has each version once. Sources sort it newest first.
	List []Release `json:"versions"`

	Warnings []string `json:"warnings,omitempty"` // the ignored parts of the answer; safe to print
}

// String returns text for people.
func (v *Versions) String() string {
	list := make([]string, len(v.List))
	for i, r := range v.List {
		list[i] = r.Version.String()
	}
	return v.Module.String() + ": " + cmp.Or(strings.Join(list, ", "), "no versions")
}

// Newest returns the newest version that c allows, as the CLI does: a release, unless c names
// a prerelease exactly. The error is an [*Error] that wraps an [*UnavailableError].
func (v *Versions) Newest(c addrs.ModuleConstraint) (addrs.Version, error) {
	return v.choose(c.Matcher(), c)
}

// NewestFunc is [Versions.Newest] for any function, such as the Check method of a constraint of
// hashicorp/go-version, which allows more prereleases than the CLI.
func (v *Versions) NewestFunc(allows func(addrs.Version) bool) (addrs.Version, error) {
	return v.choose(allows, addrs.ModuleConstraint{})
}

func (v *Versions) choose(allows func(addrs.Version) bool, c addrs.ModuleConstraint) (addrs.Version, error) {
	best := v.newest(allows)
	if best.IsZero() {
		return best, &Error{Op: "choose a version of", Subject: v.Module.String(), Err: v.unavailable(c)}
	}
	return best, nil
}

// newest returns the newest version that allows accepts, or zero. The list may have any
// order.
func (v *Versions) newest(allows func(addrs.Version) bool) (best addrs.Version) {
	for _, r := range v.List {
		// In a list with the newest first, allows is called until the first match.
		if r.Version.Compare(best) > 0 && allows(r.Version) {
			best = r.Version
		}
	}
	return best
}

// Find returns the release of version.
func (v *Versions) Find(version addrs.Version) (Release, bool) {
	i := slices.IndexFunc(v.List, func(r Release) bool { return r.Version == version })
	if i < 0 {
		return Release{}, false
	}
	return v.List[i], true
}

// Clone returns a copy with its own List and Warnings.
func (v *Versions) Clone() *Versions {
	if v == nil {
		return nil
	}
	c := *v
	c.List = slices.Clone(v.List)
	c.Warnings = slices.Clone(v.Warnings)
	return &c
}

// Unavailable returns the error of a [Source] without this version.
func (v *Versions) Unavailable(version addrs.Version) *UnavailableError {
	return v.unavailable(addrs.ExactModuleConstraint(version))
}

func (v *Versions) unavailable(c addrs.ModuleConstraint) *UnavailableError {
	newest := cmp.Or(v.newest(addrs.ModuleConstraint{}.Matcher()), v.newest(func(addrs.Version) bool { return true }))
	return &UnavailableError{Module: v.Module, Constraint: c, Newest: newest}
}

// UnavailableError means that a module has no such version. It wraps ErrNoVersion.
type UnavailableError struct {
	Module     addrs.Module           // as requested
	Constraint addrs.ModuleConstraint // as requested; zero for [Versions.NewestFunc]

	// Newest is the newest listed release, else prerelease; zero if none is listed.
	Newest addrs.Version
}

// Unwrap returns ErrNoVersion.
func (e *UnavailableError) Unwrap() error { return ErrNoVersion }

// Error names constraint and newest version.
func (e *UnavailableError) Error() string {
	wanted := "no version is allowed"
	switch {
	case !e.Constraint.IsZero():
		wanted = `no version matches "` + e.Constraint.String() + `"`
	case e.Newest.IsZero() || e.Newest.IsPrerelease():
		wanted = "no version matches (any release)"
	}
	newest := "the newest is " + e.Newest.String()
	switch {
	case e.Newest.IsZero():
		newest = "none is listed"
	case e.Newest.IsPrerelease():
		newest = "only prereleases are listed, " + newest
	}
	return wanted + ", " + newest
}
