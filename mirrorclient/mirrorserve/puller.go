package mirrorserve

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/webserve"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// puller downloads packages from a source. Concurrent requests for a package share one download.
type puller struct {
	source   provider.Source
	parallel int                 // maximum number of concurrent downloads
	files    *semaphore.Weighted // one for each archive in a temporary file
	stage    func(context.Context) (*staged, error)

	// origin returns where to download the archive of a package.
	origin func(ctx context.Context, pkg *provider.Package) (*origin, error)

	packages flight.Group[request, *provider.Package]

	mu    sync.Mutex
	pulls map[request]*pull // running downloads
}

// origin describes where an archive comes from and what to do with it.
type origin struct {
	provider.Fetcher
	pkg      *provider.Package // package as the Fetcher describes it
	policy   verify.Policy
	mirrored bool        // whether the Fetcher is a mirror, whose archives were verified
	local    bool        // whether archives are local files, which are not copied
	arriving *hostShares // one for each running download

	// store, if not nil, is called with each archive that the policy accepts.
	store func(context.Context, *staged, *provider.Package, *provider.Received)
}

// forAllHosts is how many times the work for one host is permitted for all hosts. There are as many temporary
// files, which slow clients keep after the downloads.
const forAllHosts = 16

// hostShares limits work for each host of providers, so that a silent host stops no other.
type hostShares = flight.Shares[svchost.Hostname]

func slots(n int) *hostShares {
	return flight.NewShares[svchost.Hostname](forAllHosts*int64(n), int64(n))
}

// prepare returns a puller without a source.
func prepare(parallel int, stage func(context.Context) (*staged, error)) *puller {
	n := cmp.Or(max(parallel, 0), webserve.DefaultParallel)
	return &puller{parallel: n, files: semaphore.NewWeighted(forAllHosts * int64(n)), stage: stage}
}

// newPuller returns a puller for a source with one origin for all archives.
func newPuller(source provider.Source, parallel int, stage func(context.Context) (*staged, error), o origin) *puller {
	u := prepare(parallel, stage)
	o.Fetcher, o.arriving = source, slots(u.parallel)
	u.source = u.asking(source)
	u.origin = func(_ context.Context, pkg *provider.Package) (*origin, error) {
		here := o
		here.pkg = pkg
		return &here, nil
	}
	return u
}

// staged is a file for a download.
type staged struct {
	*mirrordir.Staged
	refused error // why it cannot be added to the mirror, nil if it can
}

// tempStage returns a function that creates temporary files.
func tempStage(dir string) func(context.Context) (*staged, error) {
	return func(ctx context.Context) (*staged, error) {
		s, err := (&mirrordir.Mirror{TempDir: dir}).Stage(ctx)
		return &staged{Staged: s}, err
	}
}

// mirrorOrigin returns the origin of archives in a mirror. They were verified when they were added. An archive
// that is not on this machine must have the recorded hashes.
func mirrorOrigin(m *mirrordir.Mirror, limits checksum.Limits) origin {
	return origin{Fetcher: m, policy: verify.Policy{AllowUnchecked: true, Limits: limits}, mirrored: true, local: m.Local()}
}

// failed returns err as a provider.Error.
func failed(op string, pkg *provider.Package, err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return &provider.Error{Op: op, Subject: pkg.String(), Err: err}
}

// asking returns a source that checks the answers of another source and limits concurrent requests.
func (u *puller) asking(source provider.Source) *asker {
	return &asker{provider.CheckAnswers(source), slots(u.parallel)}
}

// asker is a source with a limit for concurrent requests to a host other than downloads.
type asker struct {
	provider.Source
	slots *hostShares
}

// ask calls request when a slot is free.
func ask[T any](ctx context.Context, a *asker, p addrs.Provider, request func() (T, error)) (T, error) {
	release, err := a.slots.Acquire(ctx, p.Host(), 1)
	if err != nil {
		var none T
		return none, err
	}
	defer release()
	return request()
}

func (a *asker) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	return ask(ctx, a, p, func() (*provider.Versions, error) { return a.Source.ProviderVersions(ctx, p) })
}

func (a *asker) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	return ask(ctx, a, p, func() (*provider.Package, error) { return a.Source.ProviderPackage(ctx, p, v, platform) })
}

func (a *asker) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return ask(ctx, a, pkg.Provider, func() (verify.Evidence, error) { return a.Source.Evidence(ctx, pkg) })
}

// findPackage requests a package. Concurrent calls share one request.
func (u *puller) findPackage(ctx context.Context, q request) (*provider.Package, error) {
	return u.packages.Do(ctx, q, (*provider.Package).Clone, func(ctx context.Context) (*provider.Package, error) {
		pkg, err := u.source.ProviderPackage(ctx, q.provider, q.version, q.platform)
		if err == nil && pkg.Dir != "" {
			return nil, failed("open", pkg, provider.ErrUnpacked)
		}
		return pkg, err
	})
}
