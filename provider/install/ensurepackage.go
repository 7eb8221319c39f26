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

// usablePackage is a package with accepted content.
type usablePackage struct {
	*Installed
	from      Origin
	described *provider.Package // from the source; nil unless from is FromSource
}

// candidate is a directory that may have the package.
type candidate struct {
	dir  *Dir
	from Origin
}

// lookUp looks for the package in Dir and Cache. It returns nil if the package must be downloaded,
// and an error if there is no source to download it from.
func (j *job) lookUp(ctx context.Context) (*usablePackage, error) {
	candidates, policy, missing := j.usableDirs()
	var why error
	for _, p := range candidates {
		found, err := j.lookUpIn(ctx, p.dir, policy)
		switch {
		case err == nil:
			return &usablePackage{Installed: found, from: p.from}, nil
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

// usableDirs returns the directories whose package may be used, and the policy for it. missing is
// the error text if no directory has it.
func (j *job) usableDirs() (candidates []candidate, policy verify.Policy, missing string) {
	switch {
	case j.trustsCache():
		policy = verify.Policy{AllowUnsigned: true, AllowUnchecked: true}
		return []candidate{{j.Cache, FromCache}}, policy, "the lock file has no hashes of the version, and the package is not in the cache"
	case !j.locked:
		return nil, policy, "the lock file has no hashes of the version"
	case j.policy.RequireSignature:
		return nil, policy, "the policy demands a signature, which an installed package does not have"
	}
	policy.Accept = j.lock.Accept(j.s.Provider, j.s.Version)
	candidates = []candidate{{j.Dir, FromDir}}
	if j.Cache != nil {
		candidates = append(candidates, candidate{j.Cache, FromCache})
	}
	return candidates, policy, "the package is not installed"
}

// trustsCache reports whether a package in Cache is used unverified.
func (j *job) trustsCache() bool {
	demands := j.policy.Accept != nil || j.policy.RequireSignature || j.policy.Keys != nil || j.policy.Fingerprints != nil
	return j.TrustCache && j.Cache != nil && !j.locked && !demands
}

// lookUpIn verifies the package in dir. It counts as a package in progress.
func (j *job) lookUpIn(ctx context.Context, dir *Dir, policy verify.Policy) (*Installed, error) {
	release, err := j.packages.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	found, err := dir.lookUp(ctx, j.s.Provider, j.s.Version, j.platform, policy)
	if err != nil {
		return nil, failed("look up", subject(j.s.Provider, j.s.Version, j.platform), err)
	}
	return found, nil
}

// plan fills in the selection without installing.
func (j *job) plan(ctx context.Context, found *usablePackage) (err error) {
	if found == nil {
		j.s.From, j.s.Unlocked = FromSource, j.unlocked(ctx, nil)
		j.s.Package, err = j.findPackage(ctx)
		return err
	}
	j.s.From, j.s.Unlocked = found.from, j.unlocked(ctx, found.Report.Local)
	j.s.Reports = map[addrs.Platform]*verify.Report{j.platform: found.Report}
	if found.from == FromDir {
		return j.installed(&found.Package)
	}
	return nil
}

// install puts the package into Dir.
func (j *job) install(ctx context.Context, found *usablePackage) error {
	if found == nil {
		var err error
		if found, err = j.fetch(ctx); err != nil {
			return err
		}
	} else {
		j.sendEvent(provider.EventReused, nil)
	}
	pkg := &found.Package
	if found.from != FromDir && j.Cache != nil {
		var err error
		if pkg, err = j.Dir.Place(ctx, found.Installed, j.Link); err != nil {
			return err
		}
	}
	if err := j.installed(pkg); err != nil {
		return err
	}
	j.s.From, j.s.Package, j.s.Fetched = found.from, found.described, found.Fetched
	j.s.Reports = map[addrs.Platform]*verify.Report{j.platform: found.Report}
	return nil
}

// fetch downloads the package into Cache, or into Dir if there is no Cache.
func (j *job) fetch(ctx context.Context) (*usablePackage, error) {
	pkg, err := j.findPackage(ctx)
	if err != nil {
		return nil, err
	}
	release, err := j.packages.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	got, err := cmp.Or(j.Cache, j.Dir).Install(ctx, j.source, pkg, Options{Policy: j.lockedPolicy(), Progress: j.forward})
	if err != nil {
		return nil, j.notLocked(err)
	}
	j.storeHashes(ctx, got)
	switch {
	case got.Fetched > 0 || !got.Reused:
		return &usablePackage{got, FromSource, pkg}, nil
	case j.Cache != nil:
		return &usablePackage{Installed: got, from: FromCache}, nil
	}
	return &usablePackage{Installed: got, from: FromDir}, nil
}

// notLocked turns a refusal into a NotLockedError if the lock file covers the version.
func (j *job) notLocked(err error) error {
	refused, ok := errors.AsType[*provider.Error](err)
	if !ok || !j.locked || !errors.Is(err, verify.ErrNotAccepted) {
		return err
	}
	cause := refused.Err
	if len(j.lock.Accept(j.s.Provider, j.s.Version)) == 0 {
		cause = fmt.Errorf("%w: %w", lockfile.ErrUnreadable, cause)
	}
	return j.failure("install", &lockfile.NotLockedError{Provider: j.s.Provider, Version: j.s.Version, Platform: j.platform, Err: cause})
}

// forward reports the events of Dir.Install except the last one, which job sends itself.
func (j *job) forward(e provider.Event) {
	if e.Kind != provider.EventInstalled {
		j.report(e)
	}
}

// installed sets the path of the package and of its program in the selection.
func (j *job) installed(pkg *Package) error {
	executable, err := pkg.Executable()
	if err != nil {
		return err
	}
	j.s.Dir, j.s.Executable = pkg.Dir, executable
	return nil
}
