package provider

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
)

// Find returns the package of the newest version of p that c allows and that fits
// need: it lists the versions, chooses as [Versions.NewestFor] does, and asks for
// the package. Without need.Platforms it is that for the platform of this program; of
// several it is that for the first. The zero constraint allows every release. The
// warnings of the list are not returned; call ProviderVersions for them.
//
//	pkg, err := provider.Find(ctx, src, p, addrs.MustParseProviderConstraint("~> 3.6"), provider.Need{})
//	report, err := provider.Download(ctx, src, pkg, pkg.ArchiveName(), provider.Options{})
//
// The error is an [*Error]: ErrNotFound for an unknown provider, or with an
// [*UnavailableError] of kind ErrNoVersion, ErrNoPlatform or ErrProtocol.
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
	// A list need not tell the protocols; the package must.
	if err := pkg.Fits(need); err != nil {
		return nil, err
	}
	return pkg, nil
}
