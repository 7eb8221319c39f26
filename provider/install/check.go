package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// EntryCheck is the result of [CheckEntry].
type EntryCheck struct {
	SignedBy *verify.Signature `json:"signed_by,omitempty"` // nil if the policy accepts a missing signature; all hashes are then Unknown

	Listed   []checksum.Hash `json:"listed,omitempty"`   // locked zh in the signed document
	Unlisted []checksum.Hash `json:"unlisted,omitempty"` // other locked zh

	// Unknown are locked hashes without a signature, such as h1. Each admits a package. To compare them with the
	// archives, call [Installer.Lock] with an empty File.
	Unknown []checksum.Hash `json:"unknown,omitempty"`
}

// String returns "unlisted" if c has Unlisted hashes, else "listed" if it has Listed ones, else "unknown".
func (c *EntryCheck) String() string {
	switch {
	case len(c.Unlisted) > 0:
		return "unlisted"
	case len(c.Listed) > 0:
		return "listed"
	}
	return "unknown"
}

// CheckEntry verifies the SHA256SUMS document of a locked version by policy, which must set neither Accept nor
// SameRelease ([verify.ErrPolicy]), and looks up the locked hashes in it. It downloads no archive. The document is of
// the package for this platform, otherwise for the first listed one.
//
// The error wraps for example [verify.ErrUnsigned], [verify.ErrUnknownKey], [lockfile.ErrUnreadable], or
// [failure.ErrNoVersion].
func CheckEntry(ctx context.Context, src provider.Source, e lockfile.Entry, policy verify.Policy) (*EntryCheck, error) {
	c, err := checkEntry(ctx, src, e, policy)
	return c, failure.Wrap("check the lock of", subject(e.Provider, e.Version, addrs.Platform{}), err)
}

func checkEntry(ctx context.Context, src provider.Source, e lockfile.Entry, policy verify.Policy) (*EntryCheck, error) {
	o, err := readOffer(ctx, src, e, policy, []addrs.Platform{addrs.CurrentPlatform()})
	if err != nil {
		return nil, err
	}
	c := &EntryCheck{SignedBy: o.sums.SignedBy()}
	if c.SignedBy == nil {
		c.Unknown = e.Hashes
		return c, nil
	}
	listed := map[checksum.Hash]bool{}
	for _, zh := range o.sums.Sums().All() {
		listed[zh] = true
	}
	for _, h := range e.Hashes {
		switch {
		case listed[h]:
			c.Listed = append(c.Listed, h)
		case h.Scheme() == checksum.SchemeZH:
			c.Unlisted = append(c.Unlisted, h)
		default:
			c.Unknown = append(c.Unknown, h)
		}
	}
	return c, nil
}

// offer is what a source says about a locked version.
type offer struct {
	platforms []addrs.Platform // as listed, perhaps none
	pkg       *provider.Package
	sums      verify.CheckedSums
}

// readOffer reads what the source says about a locked version, by the package for one platform: a wanted one, or one that the
// source has.
func readOffer(ctx context.Context, src provider.Source, e lockfile.Entry, policy verify.Policy, wanted []addrs.Platform) (*offer, error) {
	switch {
	case src == nil:
		return nil, failure.ErrOffline
	case e.Unreadable:
		return nil, lockfile.ErrUnreadable
	case e.Provider.IsZero() || e.Version.IsZero():
		return nil, errors.New("provider or version is missing")
	case !policy.Accept.IsZero() || !policy.SameRelease.IsZero():
		return nil, fmt.Errorf("%w: Accept or SameRelease is set, but the entry has the hashes", verify.ErrPolicy)
	}
	src = provider.CheckAnswers(src)
	versions, err := src.ProviderVersions(ctx, e.Provider)
	if err != nil {
		return nil, err
	}
	release, ok := versions.Find(e.Version)
	if !ok {
		return nil, versions.Unavailable(e.Version, addrs.Platform{})
	}
	on := wanted[0]
	if len(release.Platforms) > 0 {
		on = release.Platforms[0]
		if i := slices.IndexFunc(wanted, func(p addrs.Platform) bool { return slices.Contains(release.Platforms, p) }); i >= 0 {
			on = wanted[i]
		}
	}
	o := &offer{platforms: release.Platforms}
	o.pkg, err = src.ProviderPackage(ctx, e.Provider, e.Version, on)
	if unavailable, ok := errors.AsType[*provider.UnavailableError](err); ok && len(unavailable.Platforms) > 0 {
		o.pkg, err = src.ProviderPackage(ctx, e.Provider, e.Version, unavailable.Platforms[0]) // a mirror lists none before
	}
	if err != nil {
		return nil, err
	}
	ev, err := src.Evidence(ctx, o.pkg)
	if err != nil {
		return nil, err
	}
	if o.sums, err = policy.CheckSums(ev); err != nil {
		return nil, err
	}
	if o.sums.SignedBy() != nil {
		// The document must list the package, or it may be that of another version.
		_, err = o.sums.JudgeStated(ctx, ev)
	}
	return o, err
}
