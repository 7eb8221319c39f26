package mirrorserve

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Cache is a [provider.Source] that keeps what is fetched through it. With a [Handler] it is
// a cache server:
//
//	cache := &mirrorserve.Cache{Source: registry, Mirror: mirror}
//	http.Handle("/providers/", http.StripPrefix("/providers", &mirrorserve.Handler{Source: cache}))
//
// Set the fields before the first call; after it a Cache must not be copied, and is safe for
// concurrent use.
//
// # What is kept
//
// An archive that is fetched and that Policy accepts is added to Mirror with its evidence, as
// by [mirrordir.Mirror.Add]. From then on it is served from Mirror, and Source is not asked
// about it: a release does not change. The same holds for archives that other programs have
// added to Mirror, if Policy accepts what is on record; otherwise the archive is fetched anew.
// Archives that are refused or break off are not kept, and neither is the answer that something
// does not exist.
//
// Nothing is evicted, and clients decide what is fetched: limit the providers with the patterns
// of a [provider.Multi] as the Source, and see [mirrordir.Mirror.All] and
// [mirrordir.Mirror.Remove].
//
// # What is listed
//
// Source is asked each time which versions and platforms there are. A version that Source has
// dropped is not listed, though its archives can still be had. If Source is at fault (see
// [provider.IsFault]), or does not answer within Wait, the list is that of what is kept, if
// anything is; a refused token is not a fault. If such an answer took over a second, Source is
// not asked for half a minute about that host where Mirror can answer.
//
// To list also what Source has dropped, combine the two:
//
//	&provider.Multi{Methods: []provider.Method{{Name: "cache", Source: cache}, {Name: "kept", Source: mirror}}}
//
// # Many clients
//
// An archive that many callers ask for is fetched once and passed on while it arrives; its last
// byte is held back until the archive has been judged. A client that leaves stops the transfer
// only if it was the last. A client that has read the whole archive waits until the archive is
// in the mirror, but not longer than Wait. If the archive cannot be kept, because the disk is
// full or it is no proper archive, it is served all the same, Logger is told, and the archive is
// fetched again next time.
//
// Several processes may use the same Mirror, and Add may refresh it meanwhile.
//
// To refuse some requests, put a Source that does so around the Cache. One inside it is not
// asked for what is kept.
type Cache struct {
	// Source is where packages come from. It must not be nil.
	Source provider.Source

	// Mirror is where packages are kept. It must not be nil. Archives arrive where
	// [mirrordir.Mirror.Stage] opens a file: beside a local mirror, and otherwise in its TempDir.
	Mirror *mirrordir.Mirror

	// Policy is what a package must satisfy to be served and kept; the Policy of a [Handler]
	// has no effect. The zero Policy wants signed packages; if Source is a mirror, set
	// AllowUnsigned.
	Policy verify.Policy

	// Wait is how long a client waits for what it could do without: for Source to answer
	// what Mirror can answer too, and for an archive that it has to be kept. 0 means 5
	// seconds, less than zero no limit. The CLI gives up on a mirror after 10 seconds.
	Wait time.Duration

	// Parallel is the maximum number of archives that arrive at the same time, and of
	// other requests to Source. If it is zero or less, 16 is used for each. Requests for
	// what is kept never wait.
	Parallel int

	// Logger is told, at the level Warn, when Source is at fault and what is kept is the
	// answer, and when something cannot be kept or looked up; at Info, what is kept. Nil
	// means silence.
	Logger *slog.Logger

	once     sync.Once
	puller   *puller
	upstream *asker // Source

	mu      sync.Mutex
	resting map[svchost.Hostname]time.Time // until when Source is not asked about a host
}

var _ provider.Source = (*Cache)(nil)

// defaultWait is what Cache.Wait means by 0.
const defaultWait = 5 * time.Second

func (c *Cache) setup() *puller {
	c.once.Do(func() {
		u := prepare(c.Parallel, c.stage)
		c.upstream = u.asking(c.Source)
		arriving, reading := slots(u.parallel), slots(u.parallel)
		u.source = withoutLists{c}
		u.origin = func(ctx context.Context, pkg *provider.Package) (*origin, error) {
			return c.origin(ctx, pkg, arriving, reading)
		}
		c.puller = u
	})
	return c.puller
}

// stage opens a file beside the mirror, or if the mirror cannot be written to, one that is not
// kept.
func (c *Cache) stage(ctx context.Context) (mirrordir.Staged, error) {
	s, err := c.Mirror.Stage(ctx)
	if err == nil {
		return s, nil
	}
	return newTemporary(ctx, c.Mirror.TempDir, err)
}

// withoutLists is the Cache for itself: it finds what is kept, but only Source says what
// there is.
type withoutLists struct{ *Cache }

func (c withoutLists) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	return c.upstream.ProviderVersions(ctx, p)
}

// ProviderVersions returns the list of Source, or if Source is at fault what Mirror holds of
// p. The errors are those of Source.
func (c *Cache) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	c.setup()
	kept := &provider.Versions{}
	if list, err := c.Mirror.ProviderVersions(ctx, p); c.unread(ctx, p, err) == nil {
		kept = list
	}
	return orKept(ctx, c, p, kept, len(kept.List) > 0, func(ctx context.Context) (*provider.Versions, error) {
		return c.upstream.ProviderVersions(ctx, p)
	})
}

// ProviderPackage returns the package that is kept, as [mirrordir.Mirror.ProviderPackage] does, or else
// that of Source.
func (c *Cache) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	c.setup()
	if pkg := c.kept(ctx, p, v, platform); pkg != nil {
		return pkg, nil
	}
	return c.upstream.ProviderPackage(ctx, p, v, platform)
}

// Evidence returns what is on record about a package that is kept, and otherwise what Source
// has.
func (c *Cache) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	c.setup()
	if kept := c.kept(ctx, pkg.Provider, pkg.Version, pkg.Platform); kept != nil {
		return c.Mirror.Evidence(ctx, kept)
	}
	return c.upstream.Evidence(ctx, pkg)
}

// Open opens the archive that is kept, or else begins to fetch and to keep it, or joins those
// who fetch it already. What Policy refuses ends in an error before the last byte. Closing
// waits until the archive is kept, if it has been read to its end.
func (c *Cache) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	if pkg.Dir != "" {
		return nil, failed("open", pkg, provider.ErrUnpacked)
	}
	u := c.setup()
	r := u.read(ctx, request{documentKey{pkg.Provider, pkg.Version}, pkg.Platform, true}, pkg)
	if err := r.begin(false); err != nil {
		r.leave()
		return nil, failed("open", pkg, err)
	}
	return &provider.Body{ReadCloser: &cacheBody{pullReader: r, cache: c}, Size: r.size}, nil
}

// cacheBody is an archive as one caller reads it.
type cacheBody struct {
	*pullReader
	cache *Cache
	once  sync.Once
}

func (b *cacheBody) Close() error {
	b.once.Do(func() {
		b.cache.settle(b.pullReader)
		b.leave()
	})
	return nil
}

// settle has those who have read an archive wait until it is kept.
func (c *Cache) settle(r *pullReader) {
	if r.offset < r.size || r.err != nil {
		return
	}
	ctx, cancel := c.patience(context.Background())
	defer cancel()
	select {
	case <-r.pull.settled:
	case <-ctx.Done():
	}
}

// patience limits ctx to Wait.
func (c *Cache) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Wait < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, cmp.Or(c.Wait, defaultWait))
}
