package module

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
)

// Release is one listed version of a module.
type Release struct {
	Version addrs.Version `json:"version"` // canonical

	// Listed is what the source lists for Version, if that is not canonical, such as "v1.2".
	Listed string `json:"listed,omitempty"`

	// Deprecated, if not nil, advises against the version. It is read-only.
	Deprecated *Deprecation `json:"deprecated,omitempty"`
}

// Deprecation is the author's note about a version. Both texts are safe to print and may be empty.
type Deprecation struct {
	Reason string `json:"reason,omitempty"` // for people
	Link   string `json:"link,omitempty"`   // a URL, not checked
}

// Versions lists the versions of a module.
type Versions struct {
	Module addrs.Module `json:"module"` // as requested

	// List has each version once, usually newest first.
	List []Release `json:"versions"`

	// Warnings describe ignored or missing parts of the source's answer. They are safe to print.
	Warnings []string `json:"warnings,omitempty"`
}

// String returns the module and its versions.
func (v *Versions) String() string {
	list := make([]string, len(v.List))
	for i, r := range v.List {
		list[i] = r.Version.String()
	}
	return v.Module.String() + ": " + cmp.Or(strings.Join(list, ", "), "no versions")
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

// Find returns the release of version, and whether the list has it.
func (v *Versions) Find(version addrs.Version) (Release, bool) {
	i := slices.IndexFunc(v.List, func(r Release) bool { return r.Version == version })
	if i < 0 {
		return Release{}, false
	}
	return v.List[i], true
}

// Newest returns the newest version that c allows, also a deprecated one. The error wraps an [*UnavailableError].
func (v *Versions) Newest(c addrs.ModuleConstraint) (addrs.Version, error) {
	best := v.newest(c.Matcher())
	if best.IsZero() {
		return best, &failure.Error{Op: "choose a version of", Subject: v.Module.String(), Err: v.unavailable(c)}
	}
	return best, nil
}

// newest returns the newest version that allows accepts, or zero. The list may have any
// order.
func (v *Versions) newest(allows func(addrs.Version) bool) (best addrs.Version) {
	for _, r := range v.List {
		// If the list is sorted, this skips the rest.
		if r.Version.Compare(best) > 0 && allows(r.Version) {
			best = r.Version
		}
	}
	return best
}

// UnavailableError means that no version fits. It wraps [ErrNoVersion].
type UnavailableError struct {
	Module     addrs.Module           // as requested
	Constraint addrs.ModuleConstraint // the allowed versions

	// Newest is the newest listed release, otherwise the newest prerelease, or zero.
	Newest addrs.Version
}

func (e *UnavailableError) Unwrap() error { return ErrNoVersion }

func (e *UnavailableError) Error() string {
	text := "no version matches (any release)"
	if !e.Constraint.IsZero() {
		text = `no version matches "` + e.Constraint.String() + `"`
	}
	switch {
	case e.Newest.IsZero():
		return text + ", none is listed"
	case e.Newest.IsPrerelease():
		text += ", only prereleases are listed"
	}
	return text + ", the newest is " + e.Newest.String()
}

// Unavailable returns the error that a [Lister] wraps if version is not listed.
func (v *Versions) Unavailable(version addrs.Version) *UnavailableError {
	return v.unavailable(addrs.ExactModuleConstraint(version))
}

func (v *Versions) unavailable(c addrs.ModuleConstraint) *UnavailableError {
	newest := cmp.Or(v.newest(addrs.ModuleConstraint{}.Matcher()), v.newest(func(addrs.Version) bool { return true }))
	return &UnavailableError{Module: v.Module, Constraint: c, Newest: newest}
}
