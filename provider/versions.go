package provider

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/failure"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/choice"
	"github.com/tofureg/tofureg/internal/fault"
)

// Release is one listed version of a provider.
type Release struct {
	Version addrs.Version `json:"version"` // canonical

	Listed string `json:"listed,omitempty"` // the source's text for Version, such as "1.2", if that is not canonical

	Protocols []string `json:"protocols,omitempty"` // as in [Package]

	Platforms []addrs.Platform `json:"platforms,omitempty"` // those with a package; empty if unknown

	Discovered time.Time `json:"discovered,omitzero"` // when the registry first saw the version; zero if unknown
}

// Held is a version that is not old enough to be listed.
type Held struct {
	Release Release   `json:"release"`        // with the date that counts as Discovered
	Until   time.Time `json:"until,omitzero"` // when it is old enough; zero if its date is unknown
}

// Versions lists the versions of a provider.
type Versions struct {
	Provider addrs.Provider `json:"provider"` // as requested

	Versions []Release `json:"versions"` // each once, usually newest first; do not write to Protocols and Platforms: they may be shared

	Warnings []string `json:"warnings,omitempty"` // of the source and about its answer, safe to print

	Partial bool `json:"partial,omitempty"` // versions may be missing, as after a fault of a source or in a cached list

	Held []Held `json:"held,omitempty"` // by a [github.com/tofureg/tofureg/cooldown.Providers]
}

// String returns the provider and its versions.
func (v *Versions) String() string { return v.choice().Text(v.Provider.String()) }

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

// Find finds version in Versions or Held.
func (v *Versions) Find(version addrs.Version) (Release, bool) { return v.choice().Find(version) }

// HeldFor returns the versions in Held that c allows, fit need and are newer than the version than,
// newest first.
func (v *Versions) HeldFor(c addrs.ProviderConstraint, need Need, than addrs.Version) []Held {
	return v.choice().HeldFor(c.Matcher(), need.matcher(), than)
}

// Need is what a version must support. Unknown platforms and protocols are assumed to fit.
type Need struct {
	Platforms []addrs.Platform `json:"platforms,omitempty"` // each must have a package; if empty, any fits, but [Find] requires [addrs.CurrentPlatform]

	Protocols addrs.ProviderConstraint `json:"protocols,omitzero"` // allowed plugin protocols; if zero, ">= 5, < 7", as for the CLIs; ">= 0" is all
}

// supported are the plugin protocols of the zero Need.
var supported = sync.OnceValue(func() addrs.ProviderConstraint {
	return addrs.MustParseProviderConstraint(">= 5, < 7")
})

// Newest is [Versions.NewestFor] for any platforms and protocols, as the CLI chooses.
func (v *Versions) Newest(c addrs.ProviderConstraint) (addrs.Version, error) {
	return v.choose(c, Need{}, nil)
}

// NewestFor returns the newest version that c allows and that fits need. The error wraps a [*HeldError] if all such
// versions are held back, otherwise an [*UnavailableError].
func (v *Versions) NewestFor(c addrs.ProviderConstraint, need Need) (addrs.Version, error) {
	return v.choose(c, need, need.matcher())
}

// choose returns the newest version that c allows and fits accepts; a nil fits accepts all.
func (v *Versions) choose(c addrs.ProviderConstraint, need Need, fits func(*Release) error) (addrs.Version, error) {
	if best := v.choice().Newest(c.Matcher(), fits); best != nil {
		return best.Version, nil
	}
	var err error = v.unavailable(c, need, fits)
	if held := v.choice().HeldFor(c.Matcher(), fits, addrs.Version{}); len(held) > 0 {
		err = &HeldError{Provider: v.Provider, Constraint: c, Held: held}
	}
	return addrs.Version{}, &failure.Error{Op: "choose a version of", Subject: v.Provider.String(), Err: err}
}

// Fits returns an error that wraps an [*UnavailableError] if the package does not fit need.
func (p *Package) Fits(need Need) error {
	r := Release{Version: p.Version, Protocols: p.Protocols}
	kind := need.matcher()(&r)
	if len(need.Platforms) > 0 && !slices.Contains(need.Platforms, p.Platform) {
		kind = ErrNoPlatform
	}
	if kind == nil {
		return nil
	}
	return &failure.Error{Op: "use", Subject: p.String(), Err: &UnavailableError{
		Provider:   p.Provider,
		Constraint: addrs.ExactProviderConstraint(p.Version),
		Need:       need,
		Allowed:    p.Version,
		Protocols:  slices.Clone(p.Protocols),
		Platforms:  []addrs.Platform{p.Platform},
		Err:        kind,
	}}
}

// missing returns the needed platforms that are not in have.
func (n Need) missing(have []addrs.Platform) (missing []addrs.Platform) {
	for _, p := range n.Platforms {
		if !slices.Contains(have, p) {
			missing = append(missing, p)
		}
	}
	return missing
}

// matcher returns a function that returns ErrNoPlatform or ErrProtocol if a release does not
// fit. The function is not safe for concurrent use.
func (n Need) matcher() func(*Release) error {
	allows := cmp.Or(n.Protocols, supported()).Matcher()
	known := map[string]bool{}
	speaks := func(protocol string) bool {
		ok, seen := known[protocol]
		if !seen {
			version, err := addrs.ParseVersion(protocol)
			ok = err == nil && allows(version)
			known[protocol] = ok
		}
		return ok
	}
	return func(r *Release) error {
		switch {
		case len(r.Platforms) > 0 && len(n.missing(r.Platforms)) > 0:
			return ErrNoPlatform
		case len(r.Protocols) > 0 && !slices.ContainsFunc(r.Protocols, speaks):
			return ErrProtocol
		}
		return nil
	}
}

// Find chooses a version of p as [Versions.NewestFor] does and returns its package for need.Platforms[0]. If that does
// not fit, Find tries no other. Errors are as of src and NewestFor.
func Find(ctx context.Context, src Lister, p addrs.Provider, c addrs.ProviderConstraint, need Need) (*Package, error) {
	if len(need.Platforms) == 0 {
		need.Platforms = []addrs.Platform{addrs.CurrentPlatform()}
	}
	versions, err := checked{Lister: src}.ProviderVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	version, err := versions.NewestFor(c, need)
	if err != nil {
		return nil, err
	}
	pkg, err := checked{Lister: src}.ProviderPackage(ctx, p, version, need.Platforms[0])
	if err != nil {
		return nil, err
	}
	// The list may have no protocols.
	if err := pkg.Fits(need); err != nil {
		return nil, err
	}
	return pkg, nil
}

// HeldError means that no version that fits is old enough. It wraps [failure.ErrNoVersion].
type HeldError struct {
	Provider   addrs.Provider           // as requested
	Constraint addrs.ProviderConstraint // the allowed versions
	Held       []Held                   // the versions that fit, newest first, never empty
}

func (e *HeldError) Unwrap() error { return failure.ErrNoVersion }

func (e *HeldError) Error() string {
	return (&Versions{Held: e.Held}).choice().HeldBack(e.Constraint.String(), func(h *Held) (seen, until time.Time) { return h.Release.Discovered, h.Until })
}

// UnavailableError means that no version or package fits.
type UnavailableError struct {
	Provider   addrs.Provider           // as requested
	Constraint addrs.ProviderConstraint // the allowed versions
	Need       Need                     // as requested

	Newest addrs.Version // listed release, otherwise prerelease, or zero

	Allowed   addrs.Version    // newest version that Constraint allows, or zero
	Protocols []string         // of Allowed
	Platforms []addrs.Platform // of Allowed

	Fits addrs.Version // newest release known to fit Need, whatever Constraint is, or zero

	MayFit addrs.Version // if Fits is zero, the newest release that may fit Need, or zero

	Err error // [failure.ErrNoVersion] if Allowed is zero, otherwise ErrNoPlatform or ErrProtocol
}

func (e *UnavailableError) Unwrap() error { return e.Err }

func (e *UnavailableError) Error() string {
	switch e.Err {
	case ErrNoPlatform:
		return e.Allowed.String() + " has no package" + e.platforms() + e.hint()
	case ErrProtocol:
		return fmt.Sprintf("%s supports plugin protocol %s, want %s", e.Allowed,
			enumerate(e.Protocols, strings.Clone), cmp.Or(e.Need.Protocols, supported())) + e.hint()
	}
	const unselectable, why = "0.0.0", `, which the CLI treats as "no version"`
	text := "no version matches " + fault.Constraint(e.Constraint.String())
	newest := ", the newest is " + e.Newest.String()
	switch unselectable {
	case e.Newest.String():
		newest += why
	case e.Constraint.String():
		text += why
	}
	switch {
	case e.Newest.IsZero():
		return text + ", none is listed"
	case e.Newest.IsPrerelease():
		return text + ", only prereleases are listed" + newest
	case e.Fits.IsZero() || e.Fits == e.Newest:
		return text + newest
	}
	return text + newest + ", the newest that fits " + e.Fits.String()
}

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

// hint names the version that would fit, or may fit.
func (e *UnavailableError) hint() string {
	other, verb, age := e.Fits, "would", "older"
	if other.IsZero() {
		other, verb = e.MayFit, "may"
	}
	switch {
	case other.IsZero():
		return ""
	case other.Compare(e.Allowed) > 0:
		age = "newer"
	}
	return fmt.Sprintf("; the %s %s %s fit", age, other, verb)
}

// Unavailable returns the error of a [Source] that lacks a package: [failure.ErrNoVersion], or ErrNoPlatform if version
// is listed.
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
	e := &UnavailableError{Provider: v.Provider, Constraint: c, Need: need, Err: failure.ErrNoVersion}
	anyRelease := addrs.ProviderConstraint{}.Matcher()
	isRelease := func(v addrs.Version) bool { return !v.IsPrerelease() } // also 0.0.0
	if r := cmp.Or(v.choice().Newest(isRelease, nil), v.choice().Newest(func(addrs.Version) bool { return true }, nil)); r != nil {
		e.Newest = r.Version
	}
	if fits == nil {
		return e
	}
	if r := v.choice().Newest(c.Matcher(), nil); r != nil {
		e.Allowed, e.Err = r.Version, fits(r)
		e.Protocols, e.Platforms = slices.Clone(r.Protocols), slices.Clone(r.Platforms)
	}
	if r := v.choice().Newest(anyRelease, fits); r != nil {
		e.MayFit = r.Version
	}
	known := func(r *Release) error {
		if len(r.Platforms) == 0 && (len(need.Platforms) > 0 || e.Err == ErrNoPlatform) {
			return ErrNoPlatform
		}
		if len(r.Protocols) == 0 && e.Err == ErrProtocol {
			return ErrProtocol
		}
		return fits(r)
	}
	if r := v.choice().Newest(anyRelease, known); r != nil {
		e.Fits, e.MayFit = r.Version, addrs.Version{}
	}
	return e
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
