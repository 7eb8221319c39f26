package mirrordir

import (
	"cmp"
	"context"
	"errors"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// puller brings what clients ask for from a source, each thing once for all who want it at
// the same time.
type puller struct {
	source provider.Source // that is asked what there is
	asking slots           // one for each request that is not for an archive
	temp   string          // the directory for archives on their way

	// origin says where the archive of a package comes from.
	origin func(ctx context.Context, pkg *provider.Package) (*origin, error)

	packages flight.Group[request, *provider.Package]
	pulls    pulls
}

// origin is where an archive comes from, and what is made of it.
type origin struct {
	provider.Fetcher
	pkg     *provider.Package // as the Fetcher knows it
	policy  verify.Policy
	judged  bool  // when it was put there; a file can be served as it lies there
	pulling slots // one for each archive that arrives

	// keep, if not nil, is called with each archive that the policy has accepted.
	keep func(*arrival)
}

// defaultPulls is what Parallel of a Handler or a Cache means by 0.
const defaultPulls = 16

// newPuller returns a puller of a source.
func newPuller(source provider.Source, parallel int, temp string, o origin) *puller {
	n := cmp.Or(max(parallel, 0), defaultPulls)
	o.Fetcher, o.pulling = source, make(slots, n)
	return &puller{
		source: source, asking: make(slots, n), temp: temp,
		origin: func(_ context.Context, pkg *provider.Package) (*origin, error) {
			here := o
			here.pkg = pkg
			return &here, nil
		},
	}
}

// asIsIn is where the archives of a mirror come from: whoever added them has judged them. One
// that is not on this machine must still have the hashes on record.
func asIsIn(limits verify.Limits) origin {
	return origin{policy: verify.Policy{AllowUnchecked: true, Limits: limits}, judged: true}
}

// slots bounds what is done at the same time.
type slots chan struct{}

func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s slots) give() { <-s }

// versions asks the source.
func (u *puller) versions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if err := u.asking.take(ctx); err != nil {
		return nil, err
	}
	defer u.asking.give()
	return u.source.ProviderVersions(ctx, p)
}

// find asks the source for the package, once for all who want it now.
func (u *puller) find(ctx context.Context, q request) (*provider.Package, error) {
	return u.packages.Do(ctx, q, (*provider.Package).Clone, func(ctx context.Context) (*provider.Package, error) {
		if err := u.asking.take(ctx); err != nil {
			return nil, err
		}
		defer u.asking.give()
		pkg, err := u.source.ProviderPackage(ctx, q.provider, q.version, q.platform)
		if err == nil && pkg.Dir != "" {
			return nil, failed("open", pkg.String(), provider.ErrUnpacked)
		}
		return pkg, err
	})
}

// evidence asks the source.
func (u *puller) evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	if err := u.asking.take(ctx); err != nil {
		return verify.Evidence{}, err
	}
	defer u.asking.give()
	ev, err := u.source.Evidence(ctx, pkg)
	return ev, promised(err)
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
