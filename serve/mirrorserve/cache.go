package mirrorserve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Cache is a [provider.Source] that stores the archives of another in a mirror. Set the fields before use. A Cache is
// safe for concurrent use and must not be copied.
//
// Cache adds each downloaded archive that Policy accepts to Mirror, like [mirrordir.Mirror.Add]. Later, if Policy
// accepts the record, the archive needs no request to Source. Nothing is evicted; see [mirrordir.Mirror.Remove].
//
// Each list of versions or platforms is from Source or, if it is at fault ([provider.IsFault]) or slower than Wait,
// from Mirror. After a fault of over a second, Source is not asked for lists of cached providers of the host for 30
// seconds. A [provider.Multi] of Cache and Mirror always lists cached versions.
//
// Concurrent calls share one download, which ends early if all close it. Archives are forwarded while they arrive, the
// last byte after verification, also if Mirror fails. At most 16 × Parallel archives are added to Mirror at the same
// time, each within 15 minutes; others are not added.
type Cache struct {
	Source provider.Source // has the packages; required

	Mirror *mirrordir.Mirror // stores the archives; required

	provider.Patterns // of providers, cached or not; others are [provider.ErrExcluded]

	Policy provider.Policies // for a mirror as Source, set AllowUnsigned

	// Cooldown, if not nil, holds back versions, cached or not: they are not listed, and have no document. Archives are
	// still served to clients that know their URL. Its Source is ignored. Mirror states no dates, so without a
	// [cooldown.Ledger] all its versions are held back while Source is at fault. A CLI fails if a version of its lock file
	// is not listed: set [cooldown.Providers.Permit].
	Cooldown *cooldown.Providers

	Platforms []addrs.Platform // requested if Source lists none; if empty, common ones

	// Wait bounds the wait for a list from Source if Mirror has one, and the wait of Close (see [Cache.Open]). If zero, it
	// is 5 seconds (the CLI waits 10); if negative, there is no limit.
	Wait time.Duration

	// Parallel is the maximum of concurrent downloads for providers of one host, and separately of other requests to
	// Source; for all hosts 16 × Parallel. If zero or less, 16 is used.
	Parallel int

	Logger *slog.Logger // if not nil, logs faults of Source and Mirror as Warn, added archives as Info

	once      sync.Once
	upstream  *upstream           // Source
	kept      *upstream           // Mirror
	downloads *downloads          // from both
	storing   *semaphore.Weighted // one for each archive that is being added to Mirror

	hits, misses, failures atomic.Int64

	mu          sync.Mutex
	pausedUntil map[svchost.Hostname]time.Time // until when Source is not asked about a host
}

var (
	_ provider.Source   = (*Cache)(nil)
	_ provider.Verified = (*Cache)(nil)
)

// CacheCounts are numbers since the start of a [Cache].
type CacheCounts struct {
	Hits     int64 // archives from Mirror
	Misses   int64 // archives from Source; requests that share a download count each
	Failures int64 // archives that failed, and what Logger logs as Warn
}

// Counts returns the numbers so far.
func (c *Cache) Counts() CacheCounts {
	return CacheCounts{c.hits.Load(), c.misses.Load(), c.failures.Load()}
}

// countHit counts an archive from Mirror.
func (c *Cache) countHit(ctx context.Context) {
	c.hits.Add(1)
	webserve.Note(ctx, webserve.Hit)
}

// countFailure counts an archive that failed with err. A caller that leaves, or reads nothing, is not a failure.
func (c *Cache) countFailure(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, failure.ErrNotFound) && !errors.Is(err, errStalled) {
		c.failures.Add(1)
	}
}

// defaultWait is used if Cache.Wait is zero.
const defaultWait = 5 * time.Second

func (c *Cache) setup() {
	c.once.Do(func() {
		n := c.workers()
		c.upstream = newUpstream(c.Source, c.Policy, webserve.Miss, n)
		c.kept = newUpstream(c.Mirror, c.Policy, 0, n)
		c.kept.verified = true
		c.downloads = newDownloads(n, c.fetch)
		c.storing = semaphore.NewWeighted(forAllHosts * int64(n))
	})
}

func (c *Cache) workers() int { return workers(c.Parallel) }

// check returns an error if a field is missing, which would panic later, or p is excluded.
func (c *Cache) check(p addrs.Provider) error {
	c.setup()
	if c.Source == nil || c.Mirror == nil {
		return &failure.Error{Op: "use", Subject: "a Cache", Err: errors.New("the fields Source and Mirror must not be nil")}
	}
	if !c.Selects(p) {
		return &failure.Error{Op: "find", Subject: p.String(), Err: provider.ErrExcluded}
	}
	return nil
}

// cooled returns a function that applies Cooldown to a list.
func (c *Cache) cooled(ctx context.Context, p addrs.Provider) func(*provider.Versions, error) (*provider.Versions, error) {
	return func(versions *provider.Versions, err error) (*provider.Versions, error) {
		if err != nil || c.Cooldown == nil {
			return versions, err
		}
		return c.Cooldown.Filter(ctx, p, versions)
	}
}

// ProviderVersions lists versions as [Cache] says.
func (c *Cache) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if err := c.check(p); err != nil {
		return nil, err
	}
	kept := &provider.Versions{}
	if list, err := c.Mirror.ProviderVersions(ctx, p); c.logFailure(ctx, p, err) == nil {
		kept = list
		kept.Partial = true
	}
	return c.cooled(ctx, p)(orCached(ctx, c, p, kept, len(kept.Versions) > 0, func(ctx context.Context) (*provider.Versions, error) {
		return c.upstream.ProviderVersions(ctx, p)
	}))
}

// ProviderPackage returns the package of Mirror if Policy accepts its record, otherwise the package of Source.
func (c *Cache) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	if err := c.check(p); err != nil {
		return nil, err
	}
	if pkg := c.cachedPackage(ctx, p, v, platform); pkg != nil {
		webserve.Note(ctx, webserve.Hit)
		return pkg, nil
	}
	return c.upstream.ProviderPackage(ctx, p, v, platform)
}

var errNoPackage = errors.New("the package is missing")

// Evidence returns the recorded evidence of a cached package, otherwise the evidence of Source.
func (c *Cache) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	if pkg == nil {
		return verify.Evidence{}, failure.Wrap("fetch the evidence of", pkg.String(), errNoPackage)
	}
	if err := c.check(pkg.Provider); err != nil {
		return verify.Evidence{}, err
	}
	if kept := c.cachedPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); kept != nil {
		webserve.Note(ctx, webserve.Hit)
		return c.Mirror.Evidence(ctx, kept)
	}
	return c.upstream.Evidence(ctx, pkg)
}

// IsLocal returns true: archives are files in a local Mirror, or temporary ones.
func (c *Cache) IsLocal() bool { return true }

// Open opens the cached archive, or starts or joins its download. If Policy refuses the archive, Open or reading the
// last byte fails. Reading a download also fails after five minutes without a read. Close waits, for at most Wait,
// until a completely read archive is in Mirror. If Source does not state the size, Open waits for the whole archive.
func (c *Cache) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	switch {
	case pkg == nil:
		return nil, failure.Wrap("open", pkg.String(), errNoPackage)
	case pkg.Dir != "":
		return nil, failure.Wrap("open", pkg.String(), provider.ErrUnpacked)
	}
	if err := c.check(pkg.Provider); err != nil {
		return nil, err
	}
	if body := c.openFile(ctx, pkg); body != nil {
		c.countHit(ctx)
		return body, nil
	}
	r, err := c.downloads.open(ctx, pkg)
	if err != nil {
		c.countFailure(ctx, err)
		return nil, err
	}
	return &provider.Body{ReadCloser: &cacheBody{reader: r, cache: c}, Size: r.size}, nil
}

// openFile opens the cached archive of a package in a local mirror, and returns nil if it is missing.
func (c *Cache) openFile(ctx context.Context, pkg *provider.Package) *provider.Body {
	if !c.Mirror.IsLocal() {
		return nil
	}
	kept := c.cachedPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform)
	if kept == nil {
		return nil
	}
	body, err := c.Mirror.Open(ctx, kept)
	if err != nil {
		return nil // it has been removed since
	}
	if _, ok := body.ReadCloser.(io.Seeker); !ok || body.Size != kept.Size {
		body.Close() // a wrapper of the store hides that it is a file, or it has been replaced since
		return nil
	}
	return body
}

// fetch downloads the archive of d.pkg from Source, and adds it to Mirror. If Mirror has it by now, its readers get that.
func (c *Cache) fetch(ctx context.Context, d *download) error {
	release := c.claim(ctx, d.pkg)
	defer release()
	pkg := d.pkg
	if kept := c.cachedPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); kept != nil {
		return c.fetchKept(ctx, d, kept)
	}
	if body, err := c.Mirror.Open(ctx, pkg); !errors.Is(err, failure.ErrNotFound) {
		// It is from the mirror, and was removed after the caller had got it.
		if err == nil {
			body.Close()
		}
		if pkg, err = c.upstream.ProviderPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); err != nil {
			return err
		}
	}
	if err := c.downloads.place(ctx, d); err != nil {
		return err
	}
	var refused, err error
	if d.staged, refused = storage.Stage(ctx, c.Mirror.Store, c.Mirror.TempDir); refused != nil {
		if d.staged, err = storage.Stage(ctx, nil, c.Mirror.TempDir); err != nil {
			return err
		}
	}
	got, err := c.upstream.receive(ctx, d, pkg, true)
	if err != nil {
		return err
	}
	// New readers find the archive here until it is in the mirror.
	held := c.downloads.hold(d)
	d.accept(got.Size)
	if held {
		c.store(ctx, d.staged, refused, pkg, got)
		c.downloads.letGo(d)
	}
	return nil
}

// fetchKept copies an archive from Mirror: from an object store, or because another process has added it just now.
func (c *Cache) fetchKept(ctx context.Context, d *download, kept *provider.Package) (err error) {
	if err := c.downloads.place(ctx, d); err != nil {
		return err
	}
	if d.staged, err = storage.Stage(ctx, nil, c.Mirror.TempDir); err != nil {
		return err
	}
	d.change(func() { d.cached = true })
	got, err := c.kept.receive(ctx, d, kept, false)
	if err != nil {
		return err
	}
	d.accept(got.Size)
	return nil
}

// cacheBody is an archive that one caller reads while it is downloaded.
type cacheBody struct {
	*reader
	cache *Cache
	once  sync.Once
}

func (b *cacheBody) Close() error {
	b.once.Do(func() {
		c, d := b.cache, b.download
		switch {
		case b.err != nil:
			c.countFailure(b.ctx, b.err)
		case d.cached: // set before there was a size
			c.countHit(b.ctx)
		default:
			c.misses.Add(1)
			webserve.Note(b.ctx, webserve.Miss)
		}
		if b.offset == b.size && b.err == nil {
			c.waitUntilStored(d)
		}
		b.leave()
	})
	return nil
}

// waitUntilStored waits until an archive is added to Mirror, or Wait ends.
func (c *Cache) waitUntilStored(d *download) {
	ctx, cancel := c.withWait(context.Background())
	defer cancel()
	select {
	case <-d.settled:
	case <-ctx.Done():
	}
}

// withWait returns a context with the limit Wait.
func (c *Cache) withWait(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Wait < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, cmp.Or(c.Wait, defaultWait))
}

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

// cachedPackage returns the cached package, nil if it is missing.
func (c *Cache) cachedPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) *provider.Package {
	pkg, err := c.Mirror.RecordedPackage(ctx, p, v, platform, c.Policy.For(p))
	if c.logFailure(ctx, p, err) != nil {
		return nil
	}
	return pkg
}

// logFailure returns err, and logs it unless it means that nothing is cached.
func (c *Cache) logFailure(ctx context.Context, p addrs.Provider, err error) error {
	if err != nil && ctx.Err() == nil && !errors.Is(err, failure.ErrNotFound) {
		c.warn(ctx, "mirror failed", "provider", p, "error", err)
	}
	return err
}

func (c *Cache) warn(ctx context.Context, text string, args ...any) {
	c.failures.Add(1)
	if c.Logger != nil {
		c.Logger.WarnContext(ctx, text, args...)
	}
}

// maxClaimWait is the maximum time that clients wait, without a byte, for the download of another process.
const maxClaimWait = time.Minute

// claim waits until no other process downloads the archive of pkg to Mirror. Without locks, after maxClaimWait, or if Mirror
// fails, this process downloads the archive too.
func (c *Cache) claim(ctx context.Context, pkg *provider.Package) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, maxClaimWait)
	defer cancel()
	release, err := stored.Lock(ctx, c.Mirror.Store, pkg.String()+".claim")
	if err != nil {
		return func() {}
	}
	return release
}

// maxStoring is the maximum time in which an archive is added to Mirror.
const maxStoring = 15 * time.Minute

var errStoring = errors.New("too many archives are being added at the same time")

// store adds an archive to Mirror, if there is a place. A store that does not answer keeps its places for maxStoring, and no
// downloads waiting.
func (c *Cache) store(ctx context.Context, s *storage.Staged, refused error, pkg *provider.Package, got *provider.Received) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxStoring)
	defer cancel()
	err := refused // then nothing in the mirror may be removed for it
	switch {
	case err != nil:
	case !c.storing.TryAcquire(1):
		err = errStoring
	default:
		_, err = c.Mirror.AddArchive(ctx, s, pkg, got, c.Policy.For(pkg.Provider))
		c.storing.Release(1)
	}
	switch {
	case err != nil:
		c.warn(ctx, "package not added to the mirror", "package", pkg.String(), "error", err)
	case c.Logger != nil:
		c.Logger.InfoContext(ctx, "package added to the mirror", "package", pkg.String(), "size", got.Size)
	}
}

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
		webserve.Note(ctx, webserve.Hit)
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

// ListedVersions implements [provider.Catalogue] with the versions of ProviderVersions.
func (c *Cache) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	return listedBy(c.ProviderVersions(ctx, p))
}

// ListedArchives implements [provider.Catalogue] as [Cache] says. It states the recorded hashes of cached archives, and
// of others the hashes that Policy permits.
func (c *Cache) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	if err := c.check(p); err != nil {
		return nil, err
	}
	kept := c.cachedHashes(ctx, p, v)
	got, err := orCached(ctx, c, p, nil, len(kept) > 0, func(ctx context.Context) (map[addrs.Platform][]checksum.Hash, error) {
		versions, err := c.cooled(ctx, p)(c.upstream.ProviderVersions(ctx, p))
		if err != nil {
			return nil, err
		}
		stated, err := listArchives(ctx, c, versions, p, v, c.Policy.For(p), c.Platforms)
		for platform := range stated {
			if hashes, ok := kept[platform]; ok {
				stated[platform] = hashes
			}
		}
		return stated, err
	})
	if got != nil || err != nil {
		return got, err
	}
	if c.Cooldown == nil {
		return kept, nil
	}
	// Source does not answer. Only now, because the first list of a ledger should come from Source.
	versions, err := c.Mirror.ProviderVersions(ctx, p)
	if err == nil {
		versions.Partial = true
		versions, err = c.cooled(ctx, p)(versions, nil)
	}
	if err == nil {
		_, err = findListed(versions, p, v)
	}
	if err != nil {
		return nil, err
	}
	return kept, nil
}
