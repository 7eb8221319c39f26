package provider

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
)

// Find chooses a version of p as [Versions.NewestFor] does and returns its package for
// need.Platforms[0]. If need.Platforms is empty, the platform of the program is used. The
// zero constraint allows every release.
//
// The error wraps ErrNotFound if src does not know p, and an [*UnavailableError] if no version
// fits. Call ProviderVersions for the warnings of the list.
func Find(ctx context.Context, src Lister, p addrs.Provider, c addrs.ProviderConstraint, need Need) (*Package, error) {
	if len(need.Platforms) == 0 {
		need.Platforms = []addrs.Platform{addrs.CurrentPlatform()}
	}
	versions, err := listFrom(ctx, src, p)
	if err != nil {
		return nil, err
	}
	version, err := versions.NewestFor(c, need)
	if err != nil {
		return nil, err
	}
	pkg, err := findIn(ctx, src, p, version, need.Platforms[0])
	if err != nil {
		return nil, err
	}
	// The list may have no protocols.
	if err := pkg.Fits(need); err != nil {
		return nil, err
	}
	return pkg, nil
}
