package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// UnavailableError says that what was asked for is not on offer, and what is.
type UnavailableError struct {
	Provider   addrs.Provider           // that was asked for
	Constraint addrs.ProviderConstraint // its versions that would do; zero for [Versions.NewestFunc]
	Need       Need                     // what they had to bring along

	// Newest is the newest listed version, a release if there is one; zero if
	// none is listed or the list is not known.
	Newest addrs.Version

	// Prerelease is the newest listed version if that is a prerelease and newer than the
	// release Newest, otherwise zero.
	Prerelease addrs.Version

	// Allowed is the newest version that Constraint allows; zero: none.
	Allowed addrs.Version
	// Protocols and Platforms are those of Allowed as listed; empty: unknown.
	Protocols []string
	Platforms []addrs.Platform

	// Fits is the newest version that fits Need as listed, whatever the Constraint;
	// zero if there is none. It is never Allowed: compared with that it tells whether
	// to upgrade or to downgrade.
	Fits addrs.Version

	// Err is ErrNoVersion, ErrNoPlatform or ErrProtocol.
	Err error
}

// Unwrap returns the kind of the error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Error tells what is missing, what there is, and which version would fit.
func (e *UnavailableError) Error() string {
	switch e.Err {
	case ErrNoPlatform:
		return e.Allowed.String() + " has no package" + e.platforms() + e.hint()
	case ErrProtocol:
		return fmt.Sprintf("%s speaks plugin protocol %s, wanted is %s", e.Allowed,
			enumerate(e.Protocols, strings.Clone), e.Need.protocols()) + e.hint()
	}
	text := "no version matches " + quote(e.Constraint)
	newest := ", the newest is " + e.Newest.String()
	if !e.Prerelease.IsZero() {
		newest += " (newer prerelease: " + e.Prerelease.String() + ")"
	}
	switch {
	case e.Newest.IsZero():
		return text + ", none is listed"
	case e.Newest.IsPrerelease():
		return text + ", only prereleases are listed" + newest
	case e.Newest.String() == unselectable:
		return text + `, the only release listed is 0.0.0, which the CLI takes for "no version"`
	case e.Constraint.String() == unselectable:
		return text + newest + `; no constraint selects 0.0.0, which the CLI takes for "no version"`
	case e.Constraint.IsZero():
		return "no version is allowed" + newest
	case e.Fits.IsZero() || e.Fits == e.Newest:
		return text + newest
	}
	return text + newest + ", the newest that fits " + e.Fits.String()
}

// unselectable is the version that the CLI takes for "no version" of a provider.
const unselectable = "0.0.0"

// platforms tells for which platforms there is no package, and for which there is one.
func (e *UnavailableError) platforms() string {
	names := func(list []addrs.Platform) string { return enumerate(list, addrs.Platform.String) }
	missing := e.Need.missing(e.Platforms)
	switch {
	case len(e.Need.Platforms) == 0:
		return ""
	case len(missing) == 0:
		return " for " + names(e.Need.Platforms) + ", although it is listed"
	case len(e.Platforms) == 0: // unknown
		return " for " + names(missing)
	}
	return " for " + names(missing) + ", only for " + names(e.Platforms)
}

// hint names the version that would do.
func (e *UnavailableError) hint() string {
	switch {
	case e.Fits.IsZero():
		return ""
	case e.Fits.Compare(e.Allowed) > 0:
		return fmt.Sprintf("; the newer %s would fit", e.Fits)
	default:
		return fmt.Sprintf("; the older %s would fit", e.Fits)
	}
}

// Unavailable is for implementers of [Source]. It returns the error of a source
// that has no package of this version for this platform although v is what it
// lists: of kind ErrNoVersion if v does not list the version, otherwise of kind
// ErrNoPlatform.
func (v *Versions) Unavailable(version addrs.Version, platform addrs.Platform) *UnavailableError {
	need := Need{}
	if !platform.IsZero() {
		need.Platforms = []addrs.Platform{platform}
	}
	fits := need.matcher()
	return v.unavailable(addrs.ExactProviderConstraint(version), need, func(r *Release) error {
		if r.Version == version {
			return ErrNoPlatform // whatever the list says
		}
		return fits(r)
	})
}

// unavailable explains why nothing was found; fits is nil if need plays no part.
func (v *Versions) unavailable(c addrs.ProviderConstraint, need Need, fits func(*Release) error) *UnavailableError {
	e := &UnavailableError{Provider: v.Provider, Constraint: c, Need: need, Err: ErrNoVersion}
	anyRelease := addrs.ProviderConstraint{}.Matcher()
	if r := v.newest(anyRelease, nil); r != nil {
		e.Newest = r.Version
	}
	if r := v.newest(func(addrs.Version) bool { return true }, nil); r != nil && e.Newest.IsZero() {
		e.Newest = r.Version
	} else if r != nil && r.Version.IsPrerelease() {
		e.Prerelease = r.Version
	}
	if fits == nil {
		return e
	}
	if r := v.newest(anyRelease, fits); r != nil {
		e.Fits = r.Version
	}
	if r := v.newest(c.Matcher(), nil); r != nil {
		e.Allowed, e.Err = r.Version, fits(r)
		e.Protocols, e.Platforms = slices.Clone(r.Protocols), slices.Clone(r.Platforms)
	}
	return e
}

func quote(c addrs.ProviderConstraint) string {
	if c.IsZero() {
		return "(any release)"
	}
	return `"` + c.String() + `"`
}

// enumerate joins the first few of a list for people.
func enumerate[T any](list []T, text func(T) string) string {
	const most = 20
	words := make([]string, 0, min(len(list), most))
	for _, item := range list[:min(len(list), most)] {
		words = append(words, text(item))
	}
	if more := len(list) - most; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, ", ")
}
