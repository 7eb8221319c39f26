package module

import (
	"cmp"
	"slices"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/choice"
	"github.com/tofureg/tofureg/internal/fault"
)

// Release is one listed version of a module.
type Release struct {
	Version addrs.Version `json:"version"` // canonical

	Listed string `json:"listed,omitempty"` // the source's text for Version, such as "v1.2", if that is not canonical

	Deprecated *Deprecation `json:"deprecated,omitempty"` // if not nil, advises against the version; read-only

	Discovered time.Time `json:"discovered,omitzero"` // when the registry first saw the version; zero if unknown
}

// Held is a version that is not old enough to be listed.
type Held struct {
	Release Release   `json:"release"`        // with the date that counts as Discovered
	Until   time.Time `json:"until,omitzero"` // when it is old enough; zero if its date is unknown
}

// Deprecation is the author's note about a version. Both texts are safe to print and may be empty.
type Deprecation struct {
	Reason string `json:"reason,omitempty"` // for people
	Link   string `json:"link,omitempty"`   // a URL, not checked
}

// Versions lists the versions of a module.
type Versions struct {
	Module addrs.Module `json:"module"` // as requested

	Versions []Release `json:"versions"` // each once, usually newest first

	Warnings []string `json:"warnings,omitempty"` // about the source's answer, safe to print

	Partial bool `json:"partial,omitempty"` // versions may be missing, for example because a page failed or was cached

	Held []Held `json:"held,omitempty"` // by a [github.com/tofureg/tofureg/cooldown.Modules]
}

// String returns the module and its versions.
func (v *Versions) String() string { return v.choice().Text(v.Module.String()) }

// choice returns what choosing of providers and modules shares.
func (v *Versions) choice() choice.Versions[Release, Held] {
	return choice.Versions[Release, Held]{
		List: v.Versions, Held: v.Held,
		Version: func(r *Release) addrs.Version { return r.Version },
		Release: func(h *Held) *Release { return &h.Release },
	}
}

// Clone returns a copy whose Versions, Warnings and Held may be changed.
func (v *Versions) Clone() *Versions {
	if v == nil {
		return nil
	}
	c := *v
	c.Versions = slices.Clone(v.Versions)
	c.Warnings = slices.Clone(v.Warnings)
	c.Held = slices.Clone(v.Held)
	return &c
}

// Find returns the release of version in Versions or Held.
func (v *Versions) Find(version addrs.Version) (Release, bool) { return v.choice().Find(version) }

// HeldFor returns the versions in Held that c allows and are newer than the version than, newest
// first.
func (v *Versions) HeldFor(c addrs.ModuleConstraint, than addrs.Version) []Held {
	return v.choice().HeldFor(c.Matcher(), nil, than)
}

// Newest returns the newest version that c allows, also a deprecated one. A prerelease is allowed only if it is the
// whole constraint. The error wraps a [*HeldError] or an [*UnavailableError].
func (v *Versions) Newest(c addrs.ModuleConstraint) (addrs.Version, error) {
	best := v.newest(c.Matcher())
	if !best.IsZero() {
		return best, nil
	}
	var err error = v.unavailable(c)
	if held := v.HeldFor(c, best); len(held) > 0 {
		err = &HeldError{Module: v.Module, Constraint: c, Held: held}
	}
	return best, &failure.Error{Op: "choose a version of", Subject: v.Module.String(), Err: err}
}

// newest returns the newest version that allows accepts, or zero.
func (v *Versions) newest(allows func(addrs.Version) bool) (best addrs.Version) {
	if r := v.choice().Newest(allows, nil); r != nil {
		best = r.Version
	}
	return best
}

// HeldError means that no version that fits is old enough. It wraps [failure.ErrNoVersion].
type HeldError struct {
	Module     addrs.Module           // as requested
	Constraint addrs.ModuleConstraint // the allowed versions
	Held       []Held                 // the versions that fit, newest first, never empty
}

func (e *HeldError) Unwrap() error { return failure.ErrNoVersion }

func (e *HeldError) Error() string {
	return (&Versions{Held: e.Held}).choice().HeldBack(e.Constraint.String(), func(h *Held) (seen, until time.Time) { return h.Release.Discovered, h.Until })
}

// UnavailableError means that no version fits. It wraps [failure.ErrNoVersion].
type UnavailableError struct {
	Module     addrs.Module           // as requested
	Constraint addrs.ModuleConstraint // the allowed versions

	Newest addrs.Version // listed release, otherwise prerelease, or zero
}

func (e *UnavailableError) Unwrap() error { return failure.ErrNoVersion }

func (e *UnavailableError) Error() string {
	text := "no version matches " + fault.Constraint(e.Constraint.String())
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
