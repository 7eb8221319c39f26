package mirrorserve

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// keptHashes returns what is on record about the archives of a version that are kept. What cannot
// be looked up is not kept.
func (c *Cache) keptHashes(ctx context.Context, p addrs.Provider, v addrs.Version) map[addrs.Platform][]checksum.Hash {
	list, err := c.Mirror.ListedArchives(ctx, p, v)
	if c.unread(ctx, p, err) != nil {
		return nil
	}
	kept := map[addrs.Platform][]checksum.Hash{}
	for platform := range list {
		if pkg := c.kept(ctx, p, v, platform); pkg != nil {
			kept[platform] = pkg.Hashes[platform]
		}
	}
	return kept
}

// kept returns the package that is kept, nil if it is not.
func (c *Cache) kept(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) *provider.Package {
	pkg, err := c.Mirror.RecordedPackage(ctx, p, v, platform, c.Policy)
	if c.unread(ctx, p, err) != nil {
		return nil
	}
	return pkg
}

// unread returns err, and logs it unless it only says that there is nothing.
func (c *Cache) unread(ctx context.Context, p addrs.Provider, err error) error {
	if err != nil && ctx.Err() == nil && !errors.Is(err, provider.ErrNotFound) {
		c.warn(ctx, "mirror cannot be read", "provider", p, "error", err)
	}
	return err
}

func (c *Cache) warn(ctx context.Context, text string, args ...any) {
	if c.Logger != nil {
		c.Logger.WarnContext(ctx, text, args...)
	}
}

// origin says where the archive of pkg comes from. It is asked by the only pull of what
// pkg states, so what the pull before it has kept is found.
func (c *Cache) origin(ctx context.Context, pkg *provider.Package, arriving, reading *semaphore.Weighted) (*origin, error) {
	if kept := c.kept(ctx, pkg.Provider, pkg.Version, pkg.Platform); kept != nil {
		o := asIsIn(c.Mirror, c.Policy.Limits)
		o.pkg, o.arriving = kept, reading
		return &o, nil
	}
	if pkg.URL == c.Mirror.ArchiveURL(pkg.Provider, pkg.Version, pkg.Platform) {
		// It was kept when the caller asked.
		var err error
		if pkg, err = c.upstream.ProviderPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); err != nil {
			return nil, err
		}
	}
	return &origin{Fetcher: c.Source, pkg: pkg, policy: c.Policy, arriving: arriving, keep: c.keep}, nil
}

// keep puts an archive into the mirror.
func (c *Cache) keep(ctx context.Context, s mirrordir.Staged, pkg *provider.Package, got *provider.Received) {
	_, err := c.Mirror.AddArchive(ctx, s, pkg, got, mirrordir.Options{Policy: c.Policy})
	switch {
	case err != nil:
		c.warn(ctx, "package cannot be kept", "package", pkg.String(), "error", err)
	case c.Logger != nil:
		c.Logger.InfoContext(ctx, "package is kept", "package", pkg.String(), "size", got.Size)
	}
}
