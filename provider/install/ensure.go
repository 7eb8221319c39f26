package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// task is what a call does with each provider.
type task int

const (
	installing task = iota // Ensure
	planning               // Plan
	locking                // Lock
)

// job installs and locks one provider. What the jobs of a call do at the same time is bounded by
//
//	requests, for the network: versions and packages that jobs request
//	packages.asking, for memory: packages that provider.Hashes has requested, until their archive begins
//	packages.archives, for the disk and the network: packages that are received, unpacked or read
//	packages.hashing, for the processors: received archives that are hashed
//	packages.documents, for memory: SHA256SUMS documents in reports, which stay in the result
//	the cache of source, for memory: documents that packages of a version share
//
// A place in asking is held while waiting for archives, and that while waiting for hashing. Nothing waits
// for a place in the last two: without one, a job fails or requests again. So jobs cannot block each other.
//
// With a place in archives a job also waits for what is not of this call: the lock of a package in Dir or
// Cache, another call that hashes the same package, Progress, and the source with its transports.
type job struct {
	// Shared by the jobs of a call of Ensure, Plan or Lock.
	in       *Installer
	task     task
	platform addrs.Platform      // to install for; zero for Lock
	others   []addrs.Platform    // to hash for the lock file
	lock     *lockfile.File      // as given; jobs read it concurrently
	source   provider.Source     // nil: offline
	requests *semaphore.Weighted // bounds requests for documents
	packages *provider.Limiter   // bounds packages that are received or hashed
	report   func(progress.Event)

	// Of this provider.
	s      *Selection
	policy verify.Policy // of the caller
	locked bool          // the lock file has hashes of the selected version
}

// run runs one job for each provider concurrently, and records their results in the lock file.
func (in *Installer) run(ctx context.Context, want Requirements, lock *lockfile.File, task task) (*Result, error) {
	if lock == nil {
		lock = &lockfile.File{}
	}
	lock = lock.Clone()
	switch {
	case in.Dir == nil && task != locking:
		return &Result{Lock: lock}, errors.New("install: Installer.Dir is nil")
	case slices.Contains(in.LockPlatforms, addrs.Platform{}):
		return &Result{Lock: lock}, errors.New("install: a platform in LockPlatforms is empty")
	case in.ReadOnly:
		if err := in.readOnly(want, lock, task); err != nil {
			return &Result{Lock: lock}, err
		}
	}
	providers := slices.SortedFunc(maps.Keys(want), addrs.Provider.Compare)
	kept := slices.Clone(providers)
	if task == locking { // the entries of other providers stay
		for e := range lock.All() {
			kept = append(kept, e.Provider)
		}
	}
	lock.Migrate()
	parallel := cmp.Or(max(in.Parallel, 0), defaultParallel)
	shared := job{
		in: in, task: task, lock: lock,
		requests: semaphore.NewWeighted(int64(parallel)),
		packages: &provider.Limiter{Parallel: parallel},
		report:   flight.InTurn(in.Progress),
	}
	shared.others = slices.Compact(slices.SortedFunc(slices.Values(in.LockPlatforms), addrs.Platform.Compare))
	if task != locking {
		shared.platform = cmp.Or(in.Platform, addrs.CurrentPlatform())
		shared.others = slices.DeleteFunc(shared.others, func(p addrs.Platform) bool { return p == shared.platform })
	}
	if in.Source != nil {
		shared.source = provider.ShareEvidence(in.Source)
	}

	result := &Result{Selections: make([]Selection, len(providers)), Lock: lock.Clone()}
	var recording sync.Mutex
	var wg sync.WaitGroup
	for i, p := range providers {
		j := shared
		j.s = &result.Selections[i]
		*j.s = Selection{Provider: p, Constraint: want[p], Platform: j.platform}
		j.policy = in.Policy.For(p)
		wg.Go(func() {
			err := j.do(ctx)
			if _, ok := errors.AsType[*failure.Error](err); !ok && err != nil {
				err = j.failure("install", err)
			}
			j.s.Err = err
			recording.Lock()
			err = j.record(result.Lock)
			recording.Unlock()
			if err != nil {
				j.s.Err = errors.Join(j.s.Err, &failure.Error{Op: "lock", Subject: p.String(), Err: err})
			}
			exempt := j.s.From == FromOverride || j.s.From == FromReattached || j.s.From == FromBuiltIn
			if j.s.Err != nil {
				j.event(progress.Failed, j.s.Err)
			} else if task == installing && !exempt {
				j.event(progress.Installed, nil)
			}
		})
	}
	wg.Wait()

	var failures []error
	for _, s := range result.Selections {
		failures = append(failures, s.Err)
	}
	result.Lock.Keep(slices.Values(kept))
	return result, fault.Join(failures...)
}

// readOnly returns an error unless lock has hashes of a version of each required provider, and no other provider.
func (in *Installer) readOnly(want Requirements, lock *lockfile.File, task task) error {
	if task == locking || in.Upgrade {
		return errors.New("install: Lock and Upgrade change the lock file, so ReadOnly must not be set")
	}
	for _, p := range slices.SortedFunc(maps.Keys(want), addrs.Provider.Compare) {
		_, exempt := in.DevOverrides[p]
		exempt = exempt || p.IsBuiltIn() || slices.Contains(in.Reattached, p)
		if entry, _ := lock.Get(p); !exempt && !lock.Covers(p, entry.Version) {
			return fmt.Errorf("%w: it has no hashes for %s: run without ReadOnly to lock it", ErrReadOnly, p)
		}
	}
	for e := range lock.All() {
		if _, ok := want[e.Provider]; !ok {
			return fmt.Errorf("%w: it has an entry for %s, which no module requires: run without ReadOnly to remove it", ErrReadOnly, e.Provider)
		}
	}
	return nil
}

// do selects the version, looks for its package in Dir and Cache, installs it and completes the hashes
// for the lock file.
func (j *job) do(ctx context.Context) error {
	if exempt, err := j.exempt(); exempt || err != nil {
		return err
	}
	if err := j.selectVersion(ctx); err != nil {
		return err
	}
	j.locked = j.lock.Covers(j.s.Provider, j.s.Version)
	if err := j.lockedPolicy().Validate(); err != nil {
		return j.failure("install", err) // also if an installed package needs no judgement by it
	}
	if j.task == locking {
		if err := j.approve(ctx, nil); err != nil {
			return err
		}
		return j.lockOnly(ctx)
	}
	found, err := j.lookUp(ctx)
	if err == nil {
		err = j.approve(ctx, found)
	}
	switch {
	case err != nil:
		return err
	case j.task == planning:
		return j.plan(ctx, found)
	case j.locked:
		return j.installLocked(ctx, found)
	}
	return j.installNew(ctx, found)
}

// approve asks the program about the selected version.
func (j *job) approve(ctx context.Context, f *found) error {
	if j.in.Approve == nil {
		return nil
	}
	s := *j.s
	if f != nil {
		s.From = f.from
	}
	if err := j.in.Approve(ctx, s); err != nil {
		return j.failure("approve", &failure.RefusedError{Err: err})
	}
	return nil
}

// exempt reports whether the provider needs no package.
func (j *job) exempt() (bool, error) {
	p := j.s.Provider
	dir, overridden := j.in.DevOverrides[p]
	if j.task == locking {
		overridden = false
	}
	switch {
	case p.IsZero():
		return false, j.failure("install", errors.New("the provider address is empty"))
	case slices.Contains(j.in.Reattached, p) && j.task != locking:
		j.s.From = FromReattached
		return true, nil
	case overridden:
		j.s.From, j.s.Dir = FromOverride, dir
		// The program may not have been built yet.
		j.s.Executable, _ = (&Package{Provider: p, Dir: dir}).Executable()
		return true, nil
	case p.IsLegacy():
		return false, j.failure("install", fmt.Errorf("%w: the address does not tell the provider's namespace", lockfile.ErrNotLockable))
	case !p.IsBuiltIn():
		return false, nil
	}
	j.s.From = FromBuiltIn
	switch { // the errors of the CLI
	case p.Type() != "terraform":
		return true, j.failure("install", fmt.Errorf("%w among the providers that are built into the CLI", failure.ErrNotFound))
	case !j.s.Constraint.IsZero():
		return true, j.failure("install", errors.New("the provider is built into the CLI and cannot have a version constraint"))
	}
	return true, nil
}

// selectVersion sets the version of the selection.
func (j *job) selectVersion(ctx context.Context) error {
	p, c := j.s.Provider, j.s.Constraint
	const op = "choose a version of"
	entry, _ := j.lock.Get(p)
	if !entry.Version.IsZero() && !j.in.Upgrade {
		j.s.Version, j.s.Locked = entry.Version, true
		if !c.Allows(entry.Version) {
			return j.failure(op, &LockedError{Provider: p, Version: entry.Version, Constraint: c})
		}
		return nil
	}
	if j.source == nil {
		why := "the provider is not in the lock file"
		if j.in.Upgrade {
			why = "Upgrade needs a source"
		}
		return j.failure(op, fmt.Errorf("%w: %s", failure.ErrOffline, why))
	}
	if err := j.requests.Acquire(ctx, 1); err != nil {
		return err
	}
	defer j.requests.Release(1)
	j.event(progress.Resolving, nil)
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
	if j.s.Held = versions.HeldFor(c, j.need(), v); len(j.s.Held) > 0 {
		e := progress.Event{Kind: progress.HeldBack, Provider: p, Version: v, Platform: j.platform}
		for _, h := range j.s.Held {
			e.Held = append(e.Held, progress.Held{Version: h.Release.Version, Until: h.Until})
		}
		j.report(e)
	}
	return nil
}

func (j *job) need() provider.Need {
	platforms := []addrs.Platform{j.platform}
	if j.task == locking {
		platforms = j.others
	}
	return provider.Need{Platforms: platforms, Protocols: j.in.Protocols}
}

// found is a package with accepted content.
type found struct {
	pkg       *Installed
	from      Origin
	described *provider.Package // by the source; nil unless from is FromSource
}

// lookUp looks for the package in Dir and Cache. It returns nil if the package must be downloaded,
// and an error if there is no source to download it from.
func (j *job) lookUp(ctx context.Context) (*found, error) {
	type place struct {
		dir  *Dir
		from Origin
	}
	var places []place
	var policy verify.Policy
	missing := "the package is not installed"
	switch {
	case j.in.TrustCache && j.in.Cache != nil && !j.locked && !j.policy.Demands():
		places = []place{{j.in.Cache, FromCache}}
		policy = verify.Policy{AllowUnsigned: true, AllowUnchecked: true}
		missing = "the lock file has no hashes of the version, and the package is not in the cache"
	case !j.locked:
		missing = "the lock file has no hashes of the version"
	case j.lockedPolicy().NeedsEvidence():
		missing = "the policy demands a signature or provenance, which an installed package does not have"
	default:
		policy = verify.Policy{Accept: j.lockedPolicy().Accept}
		places = []place{{j.in.Dir, FromDir}}
		if j.in.Cache != nil {
			places = append(places, place{j.in.Cache, FromCache})
		}
	}
	var why error
	for _, at := range places {
		release, err := j.packages.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		// The packages in Dir may be links into Cache.
		pkg, err := at.dir.lookUp(ctx, cmp.Or(j.in.Cache, j.in.Dir), j.s.Provider, j.s.Version, j.platform, policy)
		release()
		switch {
		case err == nil:
			return &found{pkg: pkg, from: at.from}, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case why == nil && !errors.Is(err, errNotInstalled):
			why = failure.Wrap("look up", subject(j.s.Provider, j.s.Version, j.platform), err)
		}
	}
	switch {
	case j.source != nil:
		return nil, nil
	case why != nil:
		return nil, j.failure("install", fmt.Errorf("%w: %w", failure.ErrOffline, why))
	}
	return nil, j.failure("install", fmt.Errorf("%w: %s", failure.ErrOffline, missing))
}

// plan fills in the selection without installing.
func (j *job) plan(ctx context.Context, f *found) (err error) {
	if f == nil {
		j.s.Unlocked = j.unlocked(ctx, nil)
		pkg, err := j.findPackage(ctx)
		if err == nil {
			j.s.From, j.s.Package = FromSource, pkg
		}
		return err
	}
	j.s.From, j.s.Unlocked = f.from, j.unlocked(ctx, f.pkg.Report.Local)
	j.s.Reports = map[addrs.Platform]*verify.Report{j.platform: f.pkg.Report}
	if f.from != FromDir {
		return nil
	}
	if j.s.Executable, err = f.pkg.Executable(); err == nil {
		j.s.Dir = f.pkg.Dir
	}
	return err
}

// install puts the package into Dir.
func (j *job) install(ctx context.Context, f *found) (err error) {
	if f == nil {
		if f, err = j.fetch(ctx); err != nil {
			return err
		}
	} else {
		j.event(progress.Reused, nil)
	}
	pkg := &f.pkg.Package
	if j.in.Cache != nil {
		j.in.Cache.use(pkg) // also if Dir has a link to it
	}
	if f.from != FromDir && j.in.Cache != nil {
		if pkg, err = j.in.Dir.Place(ctx, f.pkg, j.in.Copy); err != nil {
			return err
		}
	}
	executable, err := pkg.Executable()
	if err != nil {
		return err
	}
	j.s.Dir, j.s.Executable = pkg.Dir, executable
	j.s.From, j.s.Package, j.s.Fetched = f.from, f.described, f.pkg.Fetched
	j.s.Reports = map[addrs.Platform]*verify.Report{j.platform: f.pkg.Report}
	return nil
}

// fetch downloads the package into Cache, or into Dir if there is no Cache.
func (j *job) fetch(ctx context.Context) (*found, error) {
	pkg, err := j.findPackage(ctx)
	if err != nil {
		return nil, err
	}
	release, err := j.packages.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	got, err := cmp.Or(j.in.Cache, j.in.Dir).Install(ctx, j.source, pkg, Options{
		Policy: j.lockedPolicy(),
		Copy:   j.in.Copy && j.in.Cache == nil, // Place copies from Cache
		Sync:   j.in.TrustCache,                // all others hash what they find
		Progress: func(e progress.Event) {
			if e.Kind != progress.Installed { // which comes after locking
				j.report(e)
			}
		},
	})
	if refused, ok := errors.AsType[*failure.Error](err); ok && j.locked && errors.Is(err, verify.ErrNotAccepted) {
		cause := refused.Err
		if len(j.lock.Accept(j.s.Provider, j.s.Version).Hashes()) == 0 {
			cause = fmt.Errorf("%w: %w", lockfile.ErrUnreadable, cause)
		}
		err = j.failure("install", &lockfile.NotLockedError{Provider: j.s.Provider, Version: j.s.Version, Platform: j.platform, Err: cause})
	}
	if err != nil {
		return nil, err
	}
	if zh := (checksum.Digests{Hashes: got.Report.Local}).ZH(); j.in.Store != nil && got.Fetched > 0 && !zh.IsZero() {
		others := slices.DeleteFunc(slices.Clone(got.Report.Local), func(h checksum.Hash) bool { return h == zh })
		j.storeFailed(ctx, j.in.Store.StoreHashes(ctx, zh, others))
	}
	switch {
	case got.Fetched > 0 || !got.Reused:
		return &found{got, FromSource, pkg}, nil
	case j.in.Cache != nil:
		return &found{pkg: got, from: FromCache}, nil
	}
	return &found{pkg: got, from: FromDir}, nil
}

// findPackage requests the package and checks that it fits the platform and the protocols.
func (j *job) findPackage(ctx context.Context) (*provider.Package, error) {
	pkg, err := j.requestPackage(ctx, j.platform)
	if errors.Is(err, failure.ErrNoVersion) && j.s.Locked && !j.in.Upgrade {
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

func (j *job) failure(op string, err error) error {
	subject := j.s.Provider.String()
	if !j.s.Version.IsZero() {
		subject += " " + j.s.Version.String()
	}
	return &failure.Error{Op: op, Subject: subject, Err: err}
}

func (j *job) event(kind progress.Kind, err error) {
	j.report(progress.Event{
		Kind: kind, Provider: j.s.Provider, Version: j.s.Version, Platform: j.platform,
		Bytes: j.s.Fetched, Total: j.s.Fetched, Err: err,
	})
}
