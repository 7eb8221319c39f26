package mirrordir

import (
	"cmp"
	"context"
	"errors"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// puller brings what clients ask for from a source, each thing once for all who want it at
// the same time.
type puller struct {
	source   provider.Source // that is asked what there is
	parallel int             // how much of a kind is done at the same time
	temp     string          // the directory for archives on their way

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
	keep func(context.Context, *arrival)
}

// defaultPulls is what Parallel of a Handler or a Cache means by 0.
const defaultPulls = 16

// parallelPulls returns what Parallel of a Handler or a Cache means.
func parallelPulls(n int) int { return cmp.Or(max(n, 0), defaultPulls) }

// newPuller returns a puller of a source whose archives all have the same origin.
func newPuller(source provider.Source, parallel int, temp string, o origin) *puller {
	n := parallelPulls(parallel)
	o.Fetcher, o.pulling = source, make(slots, n)
	return &puller{
		source: &asker{source, make(slots, n)}, parallel: n, temp: temp,
		origin: func(_ context.Context, pkg *provider.Package) (*origin, error) {
			here := o
			here.pkg = pkg
			return &here, nil
		},
	}
}

// asIsIn is where the archives of a mirror come from: whoever added them has judged them. One
// that is not on this machine must still have the hashes on record.
func asIsIn(limits checksum.Limits) origin {
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

// asker is a source of which not too much is asked at the same time, archives aside.
type asker struct {
	provider.Source
	slots slots
}

// ask makes a request when there is a slot for it.
func ask[T any](ctx context.Context, a *asker, request func() (T, error)) (T, error) {
	if err := a.slots.take(ctx); err != nil {
		var none T
		return none, err
	}
	defer a.slots.give()
	return request()
}

func (a *asker) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	versions, err := ask(ctx, a, func() (*provider.Versions, error) { return a.Source.ProviderVersions(ctx, p) })
	if err == nil && versions == nil {
		return nil, failed("list versions of", p.String(), errors.New("the source returned neither versions nor an error"))
	}
	return versions, err
}

func (a *asker) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg, err := ask(ctx, a, func() (*provider.Package, error) { return a.Source.ProviderPackage(ctx, p, v, platform) })
	if err == nil && (pkg == nil || pkg.Provider != p || pkg.Version != v || pkg.Platform != platform) {
		wanted := provider.Package{Provider: p, Version: v, Platform: platform}
		return nil, failed("find", wanted.String(), errors.New("the source did not answer with this package"))
	}
	return pkg, err
}

func (a *asker) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return ask(ctx, a, func() (verify.Evidence, error) { return a.Source.Evidence(ctx, pkg) })
}

// find asks the source for the package, once for all who want it now.
func (u *puller) find(ctx context.Context, q request) (*provider.Package, error) {
	return u.packages.Do(ctx, q, (*provider.Package).Clone, func(ctx context.Context) (*provider.Package, error) {
		pkg, err := u.source.ProviderPackage(ctx, q.provider, q.version, q.platform)
		if err == nil && pkg.Dir != "" {
			return nil, failed("open", pkg.String(), provider.ErrUnpacked)
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
