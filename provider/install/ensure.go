package install

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// run is one call of Ensure or Plan.
type run struct {
	*Installer
	dry      bool             // nothing is to be written
	platform addrs.Platform   // to install for
	others   []addrs.Platform // to lock beside it
	lock     *lockfile.File   // as given; jobs read it at the same time
	source   provider.Source  // nil: offline
	asking   *provider.Gate   // for documents
	packages *provider.Gate
	report   func(provider.Event)
}

func (in *Installer) run(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint, lock *lockfile.File, dry bool) (*Result, error) {
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
		Installer: in, dry: dry, lock: lock,
		platform: cmp.Or(in.Platform, addrs.CurrentPlatform()),
		asking:   &provider.Gate{Parallel: parallel},
		packages: &provider.Gate{Parallel: parallel},
		report:   flight.InTurn(in.Progress),
	}
	r.others = slices.Compact(slices.SortedFunc(slices.Values(in.LockPlatforms), addrs.Platform.Compare))
	r.others = slices.DeleteFunc(r.others, func(p addrs.Platform) bool { return p == r.platform })
	if in.Source != nil {
		r.source = provider.ShareEvidence(in.Source)
	}
	return r.all(ctx, requirements)
}

// all works on the providers side by side.
func (r *run) all(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint) (*Result, error) {
	providers := slices.SortedFunc(maps.Keys(requirements), addrs.Provider.Compare)
	result := &Result{Selections: make([]Selection, len(providers))}
	jobs := make([]job, len(providers))
	for i, p := range providers {
		result.Selections[i] = Selection{Provider: p, Constraint: requirements[p], Platform: r.platform}
		jobs[i] = job{run: r, s: &result.Selections[i], described: make(chan *provider.Package, 1)}
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

// updated returns the lock file after the work.
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

// record adds what was decided and computed to the lock file. A version that is covered
// gains only hashes that were computed here.
func (r *run) record(lock *lockfile.File, s *Selection) error {
	planned := r.dry && s.Err == nil && !s.Version.IsZero()
	if len(s.Reports) == 0 && !planned {
		return nil
	}
	covered := r.lock.Covers(s.Provider, s.Version)
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
