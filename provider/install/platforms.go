package install

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// PlatformStatus says whether a lock file accepts the package for a platform, as far as the source states hashes.
type PlatformStatus string

const (
	LockedZH      PlatformStatus = "zh"        // the zh is locked
	LockedH1      PlatformStatus = "h1"        // only the h1 is locked
	LockedUnknown PlatformStatus = "unknown"   // only the archive would tell
	NotLocked     PlatformStatus = "missing"   // the lock file refuses the package
	NotBuilt      PlatformStatus = "not built" // the source has no package
)

// PlatformsCheck is the result of [CheckPlatforms] for one provider.
type PlatformsCheck struct {
	// Locked.
	Provider addrs.Provider `json:"provider"`
	Version  addrs.Version  `json:"version"`

	SignedBy *verify.Signature `json:"signed_by,omitempty"` // nil if the policy accepts a missing signature

	Platforms map[addrs.Platform]PlatformStatus `json:"platforms,omitempty"` // of the call; nil if Err is set

	Err error `json:"-"` // why nothing is known, or nil
}

// OK reports whether Err is nil and each platform is [LockedZH] or [LockedH1].
func (c *PlatformsCheck) OK() bool {
	for _, s := range c.Platforms {
		if s != LockedZH && s != LockedH1 {
			return false
		}
	}
	return c.Err == nil
}

// CheckPlatforms says for each locked provider, in the order of lock, whether the lock file suffices for init on these
// platforms, or without any, on this one. Init may still add an h1. CheckPlatforms downloads no archive: it compares
// the hashes that src states, from a registry with four requests for each provider. After one platform of a signed
// registry was locked, the others are [LockedZH] too. The policy must accept the SHA256SUMS document, as in
// [CheckEntry].
//
// A failure does not stop other providers; the error joins all failures.
func CheckPlatforms(ctx context.Context, src provider.Source, lock *lockfile.File, platforms []addrs.Platform, policies provider.Policies) ([]PlatformsCheck, error) {
	if len(platforms) == 0 {
		platforms = []addrs.Platform{addrs.CurrentPlatform()}
	}
	entries := slices.Collect(lock.All())
	list, failed := make([]PlatformsCheck, len(entries)), make([]error, len(entries))
	var wg sync.WaitGroup
	places := make(chan struct{}, defaultParallel)
	for i, e := range entries {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			list[i] = PlatformsCheck{Provider: e.Provider, Version: e.Version}
			o, err := readOffer(ctx, src, e, policies.For(e.Provider), platforms)
			if err != nil {
				failed[i] = failure.Wrap("check the lock of", subject(e.Provider, e.Version, addrs.Platform{}), err)
				list[i].Err = failed[i]
				return
			}
			list[i].SignedBy, list[i].Platforms = o.sums.SignedBy(), o.statuses(e, platforms)
		})
	}
	wg.Wait()
	return list, errors.Join(failed...)
}

// statuses compares the locked hashes with those that the source states.
func (o *offer) statuses(e lockfile.Entry, platforms []addrs.Platform) map[addrs.Platform]PlatformStatus {
	stated := o.stated()
	of := map[checksum.Hash]addrs.Platform{} // the platform of a hash, of several any
	for on, hashes := range stated {
		for _, h := range hashes {
			of[h] = on
		}
	}
	all := map[addrs.Platform]PlatformStatus{}
	for _, on := range platforms {
		locked := slices.DeleteFunc(slices.Clone(stated[on]), func(h checksum.Hash) bool { return !slices.Contains(e.Hashes, h) })
		built := slices.Contains(o.platforms, on) || len(o.platforms) == 0 && (len(stated) == 0 || len(stated[on]) > 0)
		// A hash may be that of the package if the source states none of its scheme for the package, and does not state this
		// one for another platform.
		open := func(h checksum.Hash) bool {
			_, known := of[h]
			return !known && !hashlist.Has(stated[on], h.Scheme())
		}
		switch {
		case hashlist.Has(locked, checksum.SchemeZH):
			all[on] = LockedZH
		case hashlist.Has(locked, checksum.SchemeH1):
			all[on] = LockedH1
		case !built:
			all[on] = NotBuilt
		case slices.ContainsFunc(e.Hashes, open):
			all[on] = LockedUnknown
		default:
			all[on] = NotLocked
		}
	}
	return all
}

// stated returns the hashes that the source states for each platform: zh from a checked SHA256SUMS document, if there is one,
// others from its own documents.
func (o *offer) stated() map[addrs.Platform][]checksum.Hash {
	stated := maps.Clone(o.pkg.Hashes)
	if stated == nil {
		stated = map[addrs.Platform][]checksum.Hash{}
	}
	sums := o.sums.Sums()
	if sums == nil {
		if on := o.pkg.Platform; !o.pkg.SHA256.IsZero() {
			stated[on] = append(slices.Clip(stated[on]), o.pkg.SHA256)
		}
		return stated
	}
	for on, hashes := range stated {
		stated[on] = slices.DeleteFunc(slices.Clone(hashes), func(h checksum.Hash) bool { return h.Scheme() == checksum.SchemeZH })
	}
	for name, zh := range sums.All() {
		v, on, _ := provider.ParseArchiveName(o.pkg.Provider, name)
		if name == o.pkg.Filename {
			v, on = o.pkg.Version, o.pkg.Platform
		}
		if v == o.pkg.Version {
			stated[on] = append(stated[on], zh)
		}
	}
	return stated
}
