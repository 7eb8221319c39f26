package mirrordir

import (
	"context"
	"errors"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// AddLocked is [Mirror.Add] for what a lock file holds: each provider in its locked version,
// for these platforms, and with no other bytes than those whose hashes are locked. So
// o.Policy.Accept has no effect here; set RequireSignature to want signatures too. It is an
// error to give no platforms, for a lock file does not tell which hash is for which.
//
// A package for a platform that the lock file has no hash of is refused. Its error wraps
// [verify.ErrNotAccepted] and a [*lockfile.NotLockedError], which says how to lock it.
func (m *Mirror) AddLocked(ctx context.Context, src provider.Source, lock *lockfile.File, platforms []addrs.Platform, o Options) ([]Added, error) {
	if len(platforms) == 0 {
		return nil, errors.New("mirror what is locked: no platforms are given")
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

// explain has the refusal of a package say how to lock it.
func (j *job) explain(platform addrs.Platform, err error) error {
	refused, ok := errors.AsType[*provider.Error](err)
	if !ok || !j.locked || !errors.Is(err, verify.ErrNotAccepted) {
		return err
	}
	explained := *refused
	explained.Err = &lockfile.NotLockedError{Provider: j.Provider, Version: j.Version, Platform: platform, Err: refused.Err}
	return &explained
}
