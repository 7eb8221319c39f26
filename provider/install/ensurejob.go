package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// job installs one provider.
type job struct {
	*run
	s      *Selection
	policy verify.Policy // of the caller
	locked bool          // the lock file has hashes of the selected version
}

func (j *job) do(ctx context.Context) {
	err := j.work(ctx)
	if err == nil {
		return
	}
	if _, ok := errors.AsType[*provider.Error](err); !ok {
		err = j.failure("install", err)
	}
	j.s.Err = err
	j.sendEvent(EventFailed, err)
}

func (j *job) work(ctx context.Context) error {
	if exempt, err := j.skipsInstall(); exempt || err != nil {
		return err
	}
	if err := j.selectVersion(ctx); err != nil {
		return err
	}
	j.locked = j.lock.Covers(j.s.Provider, j.s.Version)
	local, err := j.lookUp(ctx)
	if err != nil {
		return err
	}
	if j.planOnly {
		return j.plan(ctx, local)
	}
	return j.installAndLock(ctx, local)
}

// skipsInstall reports whether the provider needs no package.
func (j *job) skipsInstall() (bool, error) {
	p := j.s.Provider
	dir, overridden := j.DevOverrides[p]
	switch {
	case p.IsZero():
		return false, j.failure("install", errors.New("the provider address is empty"))
	case overridden:
		j.s.From, j.s.Dir = FromOverride, dir
		// The program may not have been built yet.
		j.s.Executable, _ = (&Package{Provider: p, Dir: dir}).Executable()
		return true, nil
	case p.IsBuiltIn():
		j.s.From = FromBuiltIn
		return true, j.builtIn(p)
	case p.IsLegacy():
		return false, j.failure("install", fmt.Errorf("%w: the address does not tell the provider's namespace", lockfile.ErrNotLockable))
	}
	return false, nil
}

// builtIn returns the error of the CLI for an invalid built-in provider.
func (j *job) builtIn(p addrs.Provider) error {
	switch {
	case p.Type() != "terraform":
		return j.failure("install", fmt.Errorf("%w among the providers that are built into the CLI", provider.ErrNotFound))
	case !j.s.Constraint.IsZero():
		return j.failure("install", errors.New("the provider is built into the CLI and cannot have a version constraint"))
	}
	return nil
}

// selectVersion sets the version of the selection.
func (j *job) selectVersion(ctx context.Context) error {
	p, c := j.s.Provider, j.s.Constraint
	const op = "choose a version of"
	entry, _ := j.lock.Get(p)
	if !entry.Version.IsZero() && !j.Upgrade {
		j.s.Version, j.s.Locked = entry.Version, true
		if !c.Allows(entry.Version) {
			return j.failure(op, &LockedError{Provider: p, Version: entry.Version, Constraint: c})
		}
		return nil
	}
	if j.source == nil {
		why := "the provider is not in the lock file"
		if j.Upgrade {
			why = "Upgrade needs a source"
		}
		return j.failure(op, fmt.Errorf("%w: %s", provider.ErrOffline, why))
	}
	if err := j.requests.Acquire(ctx, 1); err != nil {
		return err
	}
	defer j.requests.Release(1)
	j.sendEvent(provider.EventResolving, nil)
	versions, err := j.source.ProviderVersions(ctx, p)
	if err != nil {
		return err
	}
	j.s.Warnings = versions.Warnings
	v, err := versions.NewestFor(c, j.need())
	if err != nil {
		return err
	}
	j.s.Version, j.s.Locked = v, v == entry.Version
	return nil
}

func (j *job) need() provider.Need {
	return provider.Need{Platforms: []addrs.Platform{j.platform}, Protocols: j.Protocols}
}

// findPackage requests the package and checks that it fits the platform and the protocols.
func (j *job) findPackage(ctx context.Context) (*provider.Package, error) {
	pkg, err := j.requestPackage(ctx, j.platform)
	if errors.Is(err, provider.ErrNoVersion) && j.s.Locked && !j.Upgrade {
		return nil, j.failure("install", &LockedError{Provider: j.s.Provider, Version: j.s.Version, Constraint: j.s.Constraint, Err: err})
	}
	if err != nil {
		return nil, err
	}
	return pkg, pkg.Fits(j.need())
}

func (j *job) requestPackage(ctx context.Context, on addrs.Platform) (*provider.Package, error) {
	if err := j.requests.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer j.requests.Release(1)
	return j.source.ProviderPackage(ctx, j.s.Provider, j.s.Version, on)
}

// lockedPolicy returns the caller's policy, with the locked hashes of the version as Accept.
func (j *job) lockedPolicy() verify.Policy {
	policy := j.policy
	if j.locked {
		policy.Accept = j.lock.Accept(j.s.Provider, j.s.Version)
	}
	return policy
}

func (j *job) failure(op string, err error) error {
	subject := j.s.Provider.String()
	if !j.s.Version.IsZero() {
		subject += " " + j.s.Version.String()
	}
	return &provider.Error{Op: op, Subject: subject, Err: err}
}

func (j *job) sendEvent(kind provider.EventKind, err error) {
	j.report(provider.Event{
		Kind: kind, Provider: j.s.Provider, Version: j.s.Version, Platform: j.platform,
		Bytes: j.s.Fetched, Total: j.s.Fetched, Err: err,
	})
}
