package provider

import (
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// Need is what a version must support. The zero Need requires plugin protocol 5 or 6, as
// OpenTofu and Terraform do.
type Need struct {
	// Platforms must each have a package. If empty, any platform fits; [Find] then requires the
	// platform of the program.
	Platforms []addrs.Platform `json:"platforms,omitempty"`

	// Protocols allows plugin protocol versions. If zero, ">= 5, < 7" is used; ">= 0" allows all.
	Protocols addrs.ProviderConstraint `json:"protocols,omitzero"`
}

// supported are the plugin protocols of the zero Need.
var supported = sync.OnceValue(func() addrs.ProviderConstraint {
	return addrs.MustParseProviderConstraint(">= 5, < 7")
})

func (n Need) protocols() addrs.ProviderConstraint {
	if n.Protocols.IsZero() {
		return supported()
	}
	return n.Protocols
}

// Newest returns the newest version that c allows, as the CLI does. It ignores platforms and
// protocols. The zero constraint allows every release; a prerelease must be named exactly. The
// error wraps an [*UnavailableError].
func (v *Versions) Newest(c addrs.ProviderConstraint) (addrs.Version, error) {
	return v.choose(c.Matcher(), c, Need{}, nil)
}

// NewestFunc is [Versions.Newest] with a function in place of a constraint.
func (v *Versions) NewestFunc(allows func(addrs.Version) bool) (addrs.Version, error) {
	return v.choose(allows, addrs.ProviderConstraint{}, Need{}, nil)
}

// NewestFor returns the newest version that c allows and that fits need. Unknown platforms and
// protocols are assumed to fit. The error wraps an [*UnavailableError] of kind ErrNoVersion,
// ErrNoPlatform or ErrProtocol.
func (v *Versions) NewestFor(c addrs.ProviderConstraint, need Need) (addrs.Version, error) {
	return v.choose(c.Matcher(), c, need, need.matcher())
}

// choose returns the newest version that allows and fits accept; a nil fits accepts all.
func (v *Versions) choose(allows func(addrs.Version) bool, c addrs.ProviderConstraint, need Need, fits func(*Release) error) (addrs.Version, error) {
	if best := v.newest(allows, fits); best != nil {
		return best.Version, nil
	}
	return addrs.Version{}, &Error{Op: "choose a version of", Subject: v.Provider.String(), Err: v.unavailable(c, need, fits)}
}

// Fits returns an [*UnavailableError] in an [*Error] if the package is not for one of
// need.Platforms, or supports none of need.Protocols. Unknown protocols are assumed to fit.
func (p *Package) Fits(need Need) error {
	r := Release{Version: p.Version, Protocols: p.Protocols}
	kind := need.matcher()(&r)
	if len(need.Platforms) > 0 && !slices.Contains(need.Platforms, p.Platform) {
		kind = ErrNoPlatform
	}
	if kind == nil {
		return nil
	}
	return &Error{Op: "use", Subject: p.String(), Err: &UnavailableError{
		Provider:   p.Provider,
		Constraint: addrs.ExactProviderConstraint(p.Version),
		Need:       need,
		Allowed:    p.Version,
		Protocols:  slices.Clone(p.Protocols),
		Platforms:  []addrs.Platform{p.Platform},
		Err:        kind,
	}}
}

// newest returns the newest release that allows and fits accept, or nil. The list may have
// any order.
func (v *Versions) newest(allows func(addrs.Version) bool, fits func(*Release) error) *Release {
	var best *Release
	for i := range v.List {
		r := &v.List[i]
		// If the list is sorted, this skips the rest.
		if best != nil && r.Version.Compare(best.Version) <= 0 {
			continue
		}
		if allows(r.Version) && (fits == nil || fits(r) == nil) {
			best = r
		}
	}
	return best
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
	allows := n.protocols().Matcher()
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
