package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// UnavailableError means that no version or package fits. It describes what is listed.
type UnavailableError struct {
	Provider   addrs.Provider           // as requested
	Constraint addrs.ProviderConstraint // the allowed versions; zero for [Versions.NewestFunc]
	Need       Need                     // the required platforms and protocols

	// Newest is the newest listed release, otherwise the newest prerelease, or zero.
	Newest addrs.Version

	// Prerelease is the newest prerelease if it is newer than the release Newest, or zero.
	Prerelease addrs.Version

	// Allowed is the newest version that Constraint allows, or zero.
	Allowed addrs.Version
	// Protocols and Platforms are the listed ones of Allowed.
	Protocols []string
	Platforms []addrs.Platform

	// Fits is the newest version that fits Need, regardless of Constraint, or zero.
	Fits addrs.Version

	// Err is ErrNoVersion, ErrNoPlatform or ErrProtocol.
	Err error
}

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Error describes what is missing, what is listed, and which version would fit.
func (e *UnavailableError) Error() string {
	switch e.Err {
	case ErrNoPlatform:
		return e.Allowed.String() + " has no package" + e.platforms() + e.hint()
	case ErrProtocol:
		return fmt.Sprintf("%s supports plugin protocol %s, want %s", e.Allowed,
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
		return text + `, the only release listed is 0.0.0, which the CLI treats as "no version"`
	case e.Constraint.String() == unselectable:
		return text + newest + `; no constraint selects 0.0.0, which the CLI treats as "no version"`
	case e.Constraint.IsZero():
		return "no version is allowed" + newest
	case e.Fits.IsZero() || e.Fits == e.Newest:
		return text + newest
	}
	return text + newest + ", the newest that fits " + e.Fits.String()
}

// unselectable is the version that the CLI treats as "no version" of a provider.
const unselectable = "0.0.0"

// platforms describes the missing and the available platforms.
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

// hint names the version that would fit.
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

// Unavailable returns the error of a [Source] that has no package of a version for a platform, of
// kind ErrNoVersion or ErrNoPlatform.
func (v *Versions) Unavailable(version addrs.Version, platform addrs.Platform) *UnavailableError {
	need := Need{}
	if !platform.IsZero() {
		need.Platforms = []addrs.Platform{platform}
	}
	fits := need.matcher()
	return v.unavailable(addrs.ExactProviderConstraint(version), need, func(r *Release) error {
		if r.Version == version {
			return ErrNoPlatform // even if it is listed
		}
		return fits(r)
	})
}

// unavailable returns the reason why no version fits. If fits is nil, need is ignored.
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

// enumerate joins the first elements of a list.
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
