package mirrorserve

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// puller brings what clients ask for from a source, each thing once for all who want it at
// the same time.
type puller struct {
	source   provider.Source     // that is asked what there is
	parallel int                 // how much of a kind is done at the same time
	held     *semaphore.Weighted // one for each archive that lies in a file of its own
	stage    func(context.Context) (mirrordir.Staged, error)

	// origin says where the archive of a package comes from.
	origin func(ctx context.Context, pkg *provider.Package) (*origin, error)

	packages flight.Group[request, *provider.Package]

	mu    sync.Mutex
	pulls map[request]*pull // the archives on their way from the source, each once
}

// origin is where an archive comes from, and what is made of it.
type origin struct {
	provider.Fetcher
	pkg      *provider.Package // as the Fetcher knows it
	policy   verify.Policy
	mirrored bool                // it is a mirror, so archives were judged when they were added
	local    bool                // archives are files, which are served as they lie there
	arriving *semaphore.Weighted // one for each archive that arrives

	// keep, if not nil, is called with each archive that the policy has accepted.
	keep func(context.Context, mirrordir.Staged, *provider.Package, *provider.Received)
}

// defaultPulls is what Parallel of a Handler or a Cache means by 0.
const defaultPulls = 16

// heldFor is how many archives lie in files of their own, for each that may arrive: a client
// that is slow does not keep others waiting.
const heldFor = 4

// prepare returns a puller that has no source yet.
func prepare(parallel int, stage func(context.Context) (mirrordir.Staged, error)) *puller {
	n := cmp.Or(max(parallel, 0), defaultPulls)
	return &puller{parallel: n, held: slots(heldFor * n), stage: stage}
}

func slots(n int) *semaphore.Weighted { return semaphore.NewWeighted(int64(n)) }

// newPuller returns a puller of a source whose archives all have the same origin.
func newPuller(source provider.Source, parallel int, stage func(context.Context) (mirrordir.Staged, error), o origin) *puller {
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

// inTemp stages archives in temporary files that nothing keeps.
func inTemp(dir string) func(context.Context) (mirrordir.Staged, error) {
	return func(ctx context.Context) (mirrordir.Staged, error) {
		return newTemporary(ctx, dir, errors.ErrUnsupported)
	}
}

// temporary is a file that cannot be kept, and says why.
type temporary struct {
	mirrordir.Staged
	why error
}

func newTemporary(ctx context.Context, dir string, why error) (mirrordir.Staged, error) {
	s, err := (&mirrordir.Mirror{TempDir: dir}).Stage(ctx)
	return temporary{s, why}, err
}

func (t temporary) Commit(context.Context, string) error { return t.why }

// asIsIn is where the archives of a mirror come from: they were judged when they were added. One
// that is not on this machine must still have the hashes on record.
func asIsIn(m *mirrordir.Mirror, limits checksum.Limits) origin {
	_, local := m.Storage.(mirrordir.Local)
	return origin{Fetcher: m, policy: verify.Policy{AllowUnchecked: true, Limits: limits}, mirrored: true, local: local}
}

// failed makes the error of a job about a package.
func failed(op string, pkg *provider.Package, err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return &provider.Error{Op: op, Subject: pkg.String(), Err: err}
}

// asking returns a source that checks what another one answers, and does not ask too much of it.
func (u *puller) asking(source provider.Source) *asker {
	return &asker{provider.CheckAnswers(source), slots(u.parallel)}
}

// asker is a source of which not too much is asked at the same time, archives aside.
type asker struct {
	provider.Source
	slots *semaphore.Weighted
}

// ask makes a request when there is a slot for it.
func ask[T any](ctx context.Context, a *asker, request func() (T, error)) (T, error) {
	if a.slots.Acquire(ctx, 1) != nil {
		var none T
		return none, fault.Ended(ctx)
	}
	defer a.slots.Release(1)
	return request()
}

func (a *asker) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	return ask(ctx, a, func() (*provider.Versions, error) { return a.Source.ProviderVersions(ctx, p) })
}

func (a *asker) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	return ask(ctx, a, func() (*provider.Package, error) { return a.Source.ProviderPackage(ctx, p, v, platform) })
}

func (a *asker) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return ask(ctx, a, func() (verify.Evidence, error) { return a.Source.Evidence(ctx, pkg) })
}

// find asks the source for the package, once for all who want it now.
func (u *puller) find(ctx context.Context, q request) (*provider.Package, error) {
	return u.packages.Do(ctx, q, (*provider.Package).Clone, func(ctx context.Context) (*provider.Package, error) {
		pkg, err := u.source.ProviderPackage(ctx, q.provider, q.version, q.platform)
		if err == nil && pkg.Dir != "" {
			return nil, failed("open", pkg, provider.ErrUnpacked)
		}
		return pkg, err
	})
}

// brokenPromise is why a source does not have what it has just said it has. Then the source
// is wrong, and not who asked for it.
type brokenPromise struct{ err error }

func (e *brokenPromise) Error() string { return e.err.Error() }
func (e *brokenPromise) Unwrap() error { return e.err }

// promised marks err if it says that something is not there.
func promised(err error) error {
	if errors.Is(err, provider.ErrNotFound) {
		return &brokenPromise{err}
	}
	return err
}
