package mirrordir

import (
	"context"
	"errors"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// AddLocked adds each provider in lock in its locked version for these platforms, as [Mirror.Add]
// does. It accepts only archives with a locked hash, and ignores o.Policy.Accept. Without platforms it
// fails.
//
// For a platform without a locked hash, the error wraps [verify.ErrNotAccepted] and a
// [*lockfile.NotLockedError].
func (m *Mirror) AddLocked(ctx context.Context, src provider.Source, lock *lockfile.File, platforms []addrs.Platform, o Options) ([]Added, error) {
	if len(platforms) == 0 {
		return nil, errors.New("mirror locked providers: the platforms are missing")
	}
	var wants []Want
	for e := range lock.All() {
		wants = append(wants, Want{Provider: e.Provider, Version: e.Version, Platforms: platforms})
	}
	jobs, err := plan(wants)
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		jobs[i].policy, jobs[i].locked = o.Policy, true
		jobs[i].policy.Accept = lock.Accept(jobs[i].Provider, jobs[i].Version)
	}
	return m.add(ctx, src, jobs, o)
}

// explain adds to a refusal by a lock file how to lock the platform.
func (j *job) explain(platform addrs.Platform, err error) error {
	refused, ok := errors.AsType[*provider.Error](err)
	if !ok || !j.locked || !errors.Is(err, verify.ErrNotAccepted) {
		return err
	}
	explained := *refused
	explained.Err = &lockfile.NotLockedError{Provider: j.Provider, Version: j.Version, Platform: platform, Err: refused.Err}
	return &explained
}
