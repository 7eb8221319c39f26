package mirrorserve

import (
	"context"
	"errors"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// cachedHashes returns the recorded hashes of the cached archives of a version.
func (c *Cache) cachedHashes(ctx context.Context, p addrs.Provider, v addrs.Version) map[addrs.Platform][]checksum.Hash {
	list, err := c.Mirror.ListedArchives(ctx, p, v)
	if c.logFailure(ctx, p, err) != nil {
		return nil
	}
	kept := map[addrs.Platform][]checksum.Hash{}
	for platform := range list {
		if pkg := c.cachedPackage(ctx, p, v, platform); pkg != nil {
			kept[platform] = pkg.Hashes[platform]
		}
	}
	return kept
}

// cachedPackage returns the cached package, nil if there is none.
func (c *Cache) cachedPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) *provider.Package {
	pkg, err := c.Mirror.RecordedPackage(ctx, p, v, platform, c.Policy)
	if c.logFailure(ctx, p, err) != nil {
		return nil
	}
	return pkg
}

// logFailure returns err, and logs it unless it means that nothing is cached.
func (c *Cache) logFailure(ctx context.Context, p addrs.Provider, err error) error {
	if err != nil && ctx.Err() == nil && !errors.Is(err, provider.ErrNotFound) {
		c.warn(ctx, "mirror failed", "provider", p, "error", err)
	}
	return err
}

func (c *Cache) warn(ctx context.Context, text string, args ...any) {
	if c.Logger != nil {
		c.Logger.WarnContext(ctx, text, args...)
	}
}

// origin returns where to download the archive of pkg. The caller owns the only running download of the
// archive, so an earlier download is found in the mirror.
func (c *Cache) origin(ctx context.Context, pkg *provider.Package, arriving, reading *hostShares) (*origin, error) {
	if kept := c.cachedPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); kept != nil {
		o := mirrorOrigin(c.Mirror, c.Policy.Limits)
		o.pkg, o.arriving = kept, reading
		return &o, nil
	}
	if pkg.URL == c.Mirror.ArchiveURL(pkg.Provider, pkg.Version, pkg.Platform) {
		// It was removed after the caller had got pkg.
		var err error
		if pkg, err = c.upstream.ProviderPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); err != nil {
			return nil, err
		}
	}
	return &origin{Fetcher: c.Source, pkg: pkg, policy: c.Policy, arriving: arriving, store: c.store}, nil
}

// store adds an archive to the mirror.
func (c *Cache) store(ctx context.Context, s *staged, pkg *provider.Package, got *provider.Received) {
	err := s.refused // then nothing in the mirror may be removed for it
	if err == nil {
		_, err = c.Mirror.AddArchive(ctx, s.Staged, pkg, got, mirrordir.Options{Policy: c.Policy})
	}
	switch {
	case err != nil:
		c.warn(ctx, "package not added to the mirror", "package", pkg.String(), "error", err)
	case c.Logger != nil:
		c.Logger.InfoContext(ctx, "package added to the mirror", "package", pkg.String(), "size", got.Size)
	}
}
