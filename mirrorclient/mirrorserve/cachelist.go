package mirrorserve

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A client that installs many providers is to wait once for a source that is at fault, not
// twice for each of them: after a fault that took longer than patient, the source is left
// alone for the time of respite. A fault that comes at once costs nobody anything.
const (
	patient = time.Second
	respite = 30 * time.Second
)

// orKept asks the source of c about p. If that is at fault or takes too long, and the mirror
// has an answer, it is that one.
func orKept[T any](ctx context.Context, c *Cache, p addrs.Provider, kept T, has bool, ask func(context.Context) (T, error)) (T, error) {
	if !has {
		return ask(ctx)
	}
	if c.rests(p) {
		return kept, nil
	}
	limited, cancel := c.patience(ctx)
	defer cancel()
	start := time.Now()
	got, err := ask(limited)
	if err == nil || ctx.Err() != nil || limited.Err() == nil && !provider.IsFault(err) {
		return got, err
	}
	if time.Since(start) > patient {
		c.rest(p)
	}
	c.warn(ctx, "source at fault, what is kept is the answer", "provider", p, "error", err)
	return kept, nil
}

// rests reports whether the source is left alone about the host of p.
func (c *Cache) rests(p addrs.Provider) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.resting[p.Host()])
}

// rest notes a slow fault. There are no more notes than hosts of which something is kept.
func (c *Cache) rest(p addrs.Provider) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resting == nil {
		c.resting = map[svchost.Hostname]time.Time{}
	}
	c.resting[p.Host()] = time.Now().Add(respite)
}

// cached is the catalogue of a Cache.
type cached struct {
	*Cache
	upstream *through
}

// ListedVersions returns the list of the source or, if need be, of the mirror.
func (c *cached) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	return listedBy(c.ProviderVersions(ctx, p))
}

// ListedArchives returns what can be stated about the archives that the source has, or if need
// be about those that are kept. Of one that is kept, its record is stated: it is what clients
// will get.
func (c *cached) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	kept := c.keptHashes(ctx, p, v)
	return orKept(ctx, c.Cache, p, kept, len(kept) > 0, func(ctx context.Context) (map[addrs.Platform][]checksum.Hash, error) {
		stated, err := c.upstream.ListedArchives(ctx, p, v)
		for platform := range stated {
			if hashes, ok := kept[platform]; ok {
				stated[platform] = hashes
			}
		}
		return stated, err
	})
}
