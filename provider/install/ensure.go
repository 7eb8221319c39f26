package install

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// run is one call of Ensure or Plan.
type run struct {
	*Installer
	planOnly       bool                // write nothing
	platform       addrs.Platform      // to install for
	otherPlatforms []addrs.Platform    // to hash for the lock file
	lock           *lockfile.File      // as given; jobs read it concurrently
	source         provider.Source     // nil: offline
	requests       *semaphore.Weighted // bounds requests for documents
	packages       *provider.Limiter   // bounds packages that are received or hashed
	report         func(provider.Event)
}

func (in *Installer) run(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint, lock *lockfile.File, planOnly bool) (*Result, error) {
	if lock == nil {
		lock = &lockfile.File{}
	}
	lock = lock.Clone()
	if err := in.check(); err != nil {
		return &Result{Lock: lock}, err
	}
	lock.Migrate()
	parallel := cmp.Or(max(in.Parallel, 0), defaultParallel)
	r := &run{
		Installer: in, planOnly: planOnly, lock: lock,
		platform: cmp.Or(in.Platform, addrs.CurrentPlatform()),
		requests: semaphore.NewWeighted(int64(parallel)),
		packages: &provider.Limiter{Parallel: parallel},
		report:   flight.InTurn(in.Progress),
	}
	r.otherPlatforms = slices.Compact(slices.SortedFunc(slices.Values(in.LockPlatforms), addrs.Platform.Compare))
	r.otherPlatforms = slices.DeleteFunc(r.otherPlatforms, func(p addrs.Platform) bool { return p == r.platform })
	if in.Source != nil {
		r.source = provider.ShareEvidence(in.Source)
	}
	return r.all(ctx, requirements)
}

// all runs one job for each provider concurrently.
func (r *run) all(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint) (*Result, error) {
	providers := slices.SortedFunc(maps.Keys(requirements), addrs.Provider.Compare)
	result := &Result{Selections: make([]Selection, len(providers))}
	jobs := make([]job, len(providers))
	for i, p := range providers {
		result.Selections[i] = Selection{Provider: p, Constraint: requirements[p], Platform: r.platform}
		jobs[i] = job{run: r, s: &result.Selections[i]}
		if r.Policy != nil {
			jobs[i].policy = r.Policy(p)
		}
	}
	var wg sync.WaitGroup
	for i := range jobs {
		wg.Go(func() { jobs[i].do(ctx) })
	}
	wg.Wait()

	result.Lock = r.updated(result.Selections)
	var failures []error
	for i := range result.Selections {
		failures = append(failures, result.Selections[i].Err)
	}
	return result, errors.Join(failures...)
}

// updated returns the lock file with the results of the jobs.
func (r *run) updated(selections []Selection) *lockfile.File {
	lock := r.lock.Clone()
	var required []addrs.Provider
	for i := range selections {
		s := &selections[i]
		required = append(required, s.Provider)
		if err := r.record(lock, s); err != nil {
			s.Err = errors.Join(s.Err, &provider.Error{Op: "lock", Subject: s.Provider.String(), Err: err})
		}
	}
	lock.Keep(slices.Values(required))
	return lock
}

// record adds the selected version and its hashes to the lock file.
func (r *run) record(lock *lockfile.File, s *Selection) error {
	planned := r.planOnly && s.Err == nil && !s.Version.IsZero()
	if len(s.Reports) == 0 && !planned {
		return nil
	}
	covered := r.lock.Covers(s.Provider, s.Version) // then only computed hashes are added
	var hashes recordable
	for _, report := range s.Reports {
		if covered {
			hashes = append(hashes, report.Local...)
		} else {
			hashes = append(hashes, report.Recordable()...)
		}
	}
	return lock.Merge(s.Provider, s.Version, s.Constraint, hashes)
}

// recordable implements lockfile.Recorder.
type recordable []checksum.Hash

func (r recordable) Recordable() []checksum.Hash { return r }
