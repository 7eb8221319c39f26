package provider

import (
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// Need says what a version must bring along to be of use. The zero Need asks for
// the plugin protocols 5 and 6, which OpenTofu and Terraform speak, and for no
// platform in particular.
type Need struct {
	// Platforms that there must be packages for, for each of them: those that a lock
	// file or a mirror is to serve. Empty: any, but for [Find] the one of this program.
	Platforms []addrs.Platform `json:"platforms,omitempty"`

	// Protocols allows the plugin protocol versions that the caller can speak;
	// zero: ">= 5, < 7". A mirror that does not care sets ">= 0".
	Protocols addrs.ProviderConstraint `json:"protocols,omitzero"`
}

// supported are the plugin protocols of the zero Need.
var supported = sync.OnceValue(func() addrs.ProviderConstraint {
	return addrs.MustParseProviderConstraint(">= 5, < 7")
})

// protocols returns the constraint in force.
func (n Need) protocols() addrs.ProviderConstraint {
	if n.Protocols.IsZero() {
		return supported()
	}
	return n.Protocols
}

// Newest returns the newest version that c allows, whatever it needs to run. The
// zero constraint allows every release, but no prerelease; those must be named
// exactly. The error is an [*Error] with an [*UnavailableError] of kind ErrNoVersion.
func (v *Versions) Newest(c addrs.ProviderConstraint) (addrs.Version, error) {
	return v.choose(c.Matcher(), c, Need{}, nil)
}

// NewestFunc is like [Versions.Newest] for another rule than the CLI's: it returns the
// newest version that allows accepts, whatever the version needs to run. The Constraint of
// the [*UnavailableError] is zero.
func (v *Versions) NewestFunc(allows func(addrs.Version) bool) (addrs.Version, error) {
	return v.choose(allows, addrs.ProviderConstraint{}, Need{}, nil)
}

// NewestFor returns the newest version that c allows and that fits need. What
// the source does not tell about a version is taken to fit. Where the platforms
// differ between versions, the choice may differ between platforms.
//
// The error is an [*Error] with an [*UnavailableError]: of kind ErrNoVersion if c
// allows no listed version, otherwise of kind ErrNoPlatform or ErrProtocol, as the
// newest version that c allows lacks a platform or a protocol.
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

// Fits tells whether the package is for one of need's platforms and speaks one of its
// protocols. Unknown protocols are taken to fit. The error is an [*Error] with an
// [*UnavailableError] of kind ErrNoPlatform or ErrProtocol; [Versions.NewestFor]
// finds a version to use instead.
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

// newest returns the newest release that passes both, nil if there is none. The
// list may have any order.
func (v *Versions) newest(allows func(addrs.Version) bool, fits func(*Release) error) *Release {
	var best *Release
	for i := range v.List {
		r := &v.List[i]
		// In a list with the newest first this ends the work for all that follow.
		if best != nil && r.Version.Compare(best.Version) <= 0 {
			continue
		}
		if allows(r.Version) && (fits == nil || fits(r) == nil) {
			best = r
		}
	}
	return best
}

// missing returns the platforms that are needed and are not there.
func (n Need) missing(there []addrs.Platform) (missing []addrs.Platform) {
	for _, p := range n.Platforms {
		if !slices.Contains(there, p) {
			missing = append(missing, p)
		}
	}
	return missing
}

// matcher returns a function that tells why a release does not fit: ErrNoPlatform
// or ErrProtocol, nil if it does. It is not safe for concurrent use.
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
