package mirrorserve

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A client that installs many providers should wait only once for a source at fault: after a fault
// that took longer than slowFault, the source is not asked for pauseTime.
const (
	slowFault = time.Second
	pauseTime = 30 * time.Second
)

// orCached calls ask. If the source is at fault or too slow and something is cached, it returns that.
func orCached[T any](ctx context.Context, c *Cache, p addrs.Provider, kept T, has bool, ask func(context.Context) (T, error)) (T, error) {
	if !has {
		return ask(ctx)
	}
	if c.isPaused(p) {
		return kept, nil
	}
	limited, cancel := c.withWait(ctx)
	defer cancel()
	start := time.Now()
	got, err := ask(limited)
	if err == nil || ctx.Err() != nil || limited.Err() == nil && !provider.IsFault(err) {
		return got, err
	}
	if time.Since(start) > slowFault {
		c.pause(p)
	}
	c.warn(ctx, "source failed, answering from the mirror", "provider", p, "error", err)
	return kept, nil
}

// isPaused reports whether the source is not asked about the host of p for now.
func (c *Cache) isPaused(p addrs.Provider) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.pausedUntil[p.Host()])
}

// pause records a slow fault. The map has at most one entry for each host with cached packages.
func (c *Cache) pause(p addrs.Provider) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pausedUntil == nil {
		c.pausedUntil = map[svchost.Hostname]time.Time{}
	}
	c.pausedUntil[p.Host()] = time.Now().Add(pauseTime)
}

// cacheCatalogue is the catalogue of a Cache.
type cacheCatalogue struct {
	*Cache
	upstream *sourceCatalogue
}

// ListedVersions lists the versions of the source or, if it is at fault, the cached versions.
func (c *cacheCatalogue) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	return listedBy(c.ProviderVersions(ctx, p))
}

// ListedArchives lists the archives of the source or, if it is at fault, the cached archives. It states
// the recorded hashes of cached archives.
func (c *cacheCatalogue) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	kept := c.cachedHashes(ctx, p, v)
	return orCached(ctx, c.Cache, p, kept, len(kept) > 0, func(ctx context.Context) (map[addrs.Platform][]checksum.Hash, error) {
		stated, err := c.upstream.ListedArchives(ctx, p, v)
		for platform := range stated {
			if hashes, ok := kept[platform]; ok {
				stated[platform] = hashes
			}
		}
		return stated, err
	})
}
