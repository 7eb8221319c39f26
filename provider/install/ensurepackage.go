package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// local is a package that is here, with content that may be used.
type local struct {
	*Installed
	from Origin
	said *provider.Package // by the source; nil unless from is FromSource
}

// place is a directory that may have the package.
type place struct {
	dir  *Dir
	from Origin
}

// lookup finds the package in Dir or Cache. It returns nil if the package has to come from
// the source. Without a source that is an error.
func (j *job) lookup(ctx context.Context) (*local, error) {
	places, policy, missing := j.usable()
	var why error
	for _, p := range places {
		found, err := j.lookupIn(ctx, p.dir, policy)
		switch {
		case err == nil:
			return &local{Installed: found, from: p.from}, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case why == nil && !errors.Is(err, ErrNotInstalled):
			why = err
		}
	}
	switch {
	case j.source != nil:
		return nil, nil
	case why != nil:
		return nil, j.failure("install", fmt.Errorf("%w: %w", provider.ErrOffline, why))
	}
	return nil, j.failure("install", fmt.Errorf("%w: %s", provider.ErrOffline, missing))
}

// usable returns where a package may be that can be used, and by which policy. missing says
// what to tell if it is not there.
func (j *job) usable() (places []place, policy verify.Policy, missing string) {
	switch {
	case j.trusting():
		policy = verify.Policy{AllowUnsigned: true, AllowUnchecked: true}
		return []place{{j.Cache, FromCache}}, policy, "the lock file has no hashes of it, and it is not in the cache"
	case !j.locked:
		return nil, policy, "the lock file has no hashes of it"
	case j.policy.RequireSignature:
		return nil, policy, "what is installed has no signature, which the policy demands"
	}
	policy.Accept = j.lock.Accept(j.s.Provider, j.s.Version)
	places = []place{{j.Dir, FromDir}}
	if j.Cache != nil {
		places = append(places, place{j.Cache, FromCache})
	}
	return places, policy, "it is not installed"
}

// trusting reports whether a package in Cache is used as it is, because the policy demands
// nothing of it by name.
func (j *job) trusting() bool {
	demands := j.policy.Accept != nil || j.policy.RequireSignature || j.policy.Keys != nil || j.policy.Fingerprints != nil
	return j.TrustCache && j.Cache != nil && !j.locked && !demands
}

// lookupIn hashes the content of the package, which takes its turn with the downloads.
func (j *job) lookupIn(ctx context.Context, dir *Dir, policy verify.Policy) (*Installed, error) {
	leave, err := j.packages.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := dir.lookup(ctx, j.s.Provider, j.s.Version, j.platform, policy)
	if err != nil {
		return nil, failed("look up", subject(j.s.Provider, j.s.Version, j.platform), err)
	}
	return found, nil
}

// plan tells where the package is.
func (j *job) plan(ctx context.Context, here *local) (err error) {
	if here == nil {
		j.s.From, j.s.Unlocked = FromSource, j.unlocked(ctx, nil)
		j.s.Package, err = j.find(ctx)
		return err
	}
	j.s.From, j.s.Unlocked = here.from, j.unlocked(ctx, here.Report.Local)
	j.s.Reports = map[addrs.Platform]*verify.Report{j.platform: here.Report}
	if here.from == FromDir {
		return j.installed(&here.Package)
	}
	return nil
}

// install puts the package into Dir. It sends what the source says of it to j.described,
// and closes that, as soon as this is known.
func (j *job) install(ctx context.Context, here *local) error {
	if here == nil {
		var err error
		if here, err = j.fetch(ctx); err != nil {
			return err
		}
	} else {
		close(j.described)
		j.tell(provider.EventReused, nil)
	}
	pkg := &here.Package
	if here.from != FromDir && j.Cache != nil {
		var err error
		if pkg, err = j.Dir.Place(ctx, here.Installed, j.Link); err != nil {
			return err
		}
	}
	if err := j.installed(pkg); err != nil {
		return err
	}
	j.s.From, j.s.Package, j.s.Fetched = here.from, here.said, here.Fetched
	j.s.Reports = map[addrs.Platform]*verify.Report{j.platform: here.Report}
	return nil
}

// fetch has the package downloaded into Cache, or where there is none into Dir.
func (j *job) fetch(ctx context.Context) (*local, error) {
	pkg, err := j.find(ctx)
	if err == nil {
		j.described <- pkg
	}
	close(j.described)
	if err != nil {
		return nil, err
	}
	leave, err := j.packages.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	got, err := cmp.Or(j.Cache, j.Dir).Install(ctx, j.source, pkg, Options{Policy: j.accepting(), Progress: j.forward})
	if err != nil {
		return nil, j.notLocked(err)
	}
	j.store(ctx, got)
	switch {
	case got.Fetched > 0 || !got.Reused:
		return &local{got, FromSource, pkg}, nil
	case j.Cache != nil:
		return &local{Installed: got, from: FromCache}, nil
	}
	return &local{Installed: got, from: FromDir}, nil
}

// notLocked has the refusal of a package that the lock file may lack say so.
func (j *job) notLocked(err error) error {
	refused, ok := errors.AsType[*provider.Error](err)
	if !ok || !j.locked || !errors.Is(err, verify.ErrNotAccepted) {
		return err
	}
	return j.failure("install", &lockfile.NotLockedError{Provider: j.s.Provider, Version: j.s.Version, Platform: j.platform, Err: refused.Err})
}

// forward passes the events of Dir.Install on, but for its last one: there is more to do.
func (j *job) forward(e provider.Event) {
	if e.Kind != provider.EventInstalled {
		j.report(e)
	}
}

// installed notes where the package is. One without a program is of no use.
func (j *job) installed(pkg *Package) error {
	executable, err := pkg.Executable()
	if err != nil {
		return err
	}
	j.s.Dir, j.s.Executable = pkg.Dir, executable
	return nil
}
