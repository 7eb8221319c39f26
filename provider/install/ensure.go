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
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// job installs and locks one provider.
type job struct {
	// Shared by the jobs of a call of Ensure or Plan.
	in       *Installer
	planOnly bool                // write nothing
	platform addrs.Platform      // to install for
	others   []addrs.Platform    // to hash for the lock file
	lock     *lockfile.File      // as given; jobs read it concurrently
	source   provider.Source     // nil: offline
	requests *semaphore.Weighted // bounds requests for documents
	packages *provider.Limiter   // bounds packages that are received or hashed
	waiting  *semaphore.Weighted // bytes of described packages that wait to be hashed
	report   func(provider.Event)

	// Of this provider.
	s      *Selection
	policy verify.Policy // of the caller
	locked bool          // the lock file has hashes of the selected version
}

// ensure runs one job for each provider concurrently, and records their results in the lock file.
func (in *Installer) ensure(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint, lock *lockfile.File, planOnly bool) (*Result, error) {
	if lock == nil {
		lock = &lockfile.File{}
	}
	lock = lock.Clone()
	switch {
	case in.Dir == nil:
		return &Result{Lock: lock}, errors.New("install: Installer.Dir is nil")
	case slices.Contains(in.LockPlatforms, addrs.Platform{}):
		return &Result{Lock: lock}, errors.New("install: Installer.LockPlatforms has an empty platform")
	}
	lock.Migrate()
	parallel := cmp.Or(max(in.Parallel, 0), defaultParallel)
	shared := job{
		in: in, planOnly: planOnly, lock: lock,
		platform: cmp.Or(in.Platform, addrs.CurrentPlatform()),
		requests: semaphore.NewWeighted(int64(parallel)),
		waiting:  semaphore.NewWeighted(maxWaiting),
		packages: &provider.Limiter{Parallel: parallel},
		report:   flight.InTurn(in.Progress),
	}
	shared.others = slices.Compact(slices.SortedFunc(slices.Values(in.LockPlatforms), addrs.Platform.Compare))
	shared.others = slices.DeleteFunc(shared.others, func(p addrs.Platform) bool { return p == shared.platform })
	if in.Source != nil {
		shared.source = provider.ShareEvidence(in.Source)
	}

	providers := slices.SortedFunc(maps.Keys(requirements), addrs.Provider.Compare)
	result := &Result{Selections: make([]Selection, len(providers)), Lock: lock.Clone()}
	var recording sync.Mutex
	var wg sync.WaitGroup
	for i, p := range providers {
		j := shared
		j.s = &result.Selections[i]
		*j.s = Selection{Provider: p, Constraint: requirements[p], Platform: j.platform}
		if in.Policy != nil {
			j.policy = in.Policy(p)
		}
		wg.Go(func() {
			err := j.do(ctx)
			if _, ok := errors.AsType[*provider.Error](err); !ok && err != nil {
				err = j.failure("install", err)
			}
			j.s.Err = err
			recording.Lock()
			err = j.record(result.Lock)
			recording.Unlock()
			if err != nil {
				j.s.Err = errors.Join(j.s.Err, &provider.Error{Op: "lock", Subject: p.String(), Err: err})
			}
			switch exempt := j.s.From == FromOverride || j.s.From == FromBuiltIn; {
			case j.s.Err != nil:
				j.event(EventFailed, j.s.Err)
			case !planOnly && !exempt:
				j.event(provider.EventInstalled, nil)
			}
		})
	}
	wg.Wait()

	var failures []error
	for _, s := range result.Selections {
		failures = append(failures, s.Err)
	}
	result.Lock.Keep(slices.Values(providers))
	return result, errors.Join(failures...)
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
	found, err := j.lookUp(ctx)
	if err != nil {
		return err
	}
	if j.planOnly {
		return j.plan(ctx, found)
	}
	how := j.lockAnew
	if j.locked {
		how = j.extendLock
	}
	hashed, err := how(ctx, found)
	maps.Copy(j.s.Reports, hashed)
	return err
}

// record merges the hashes of the selection into lock, also if a platform has failed.
func (j *job) record(lock *lockfile.File) error {
	s := j.s
	if planned := j.planOnly && s.Err == nil && !s.Version.IsZero(); !planned && len(s.Reports) == 0 {
		return nil
	}
	var hashes []checksum.Hash
	for _, report := range s.Reports {
		if j.lock.Covers(s.Provider, s.Version) { // then only computed hashes are added
			hashes = append(hashes, report.Local...)
		} else {
			hashes = append(hashes, report.Recordable()...)
		}
	}
	return lock.Merge(s.Provider, s.Version, s.Constraint, hashes)
}

// exempt reports whether the provider needs no package.
func (j *job) exempt() (bool, error) {
	p := j.s.Provider
	dir, overridden := j.in.DevOverrides[p]
	switch {
	case p.IsZero():
		return false, j.failure("install", errors.New("the provider address is empty"))
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
		return true, j.failure("install", fmt.Errorf("%w among the providers that are built into the CLI", provider.ErrNotFound))
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
		return j.failure(op, fmt.Errorf("%w: %s", provider.ErrOffline, why))
	}
	if err := j.requests.Acquire(ctx, 1); err != nil {
		return err
	}
	defer j.requests.Release(1)
	j.event(provider.EventResolving, nil)
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
	return provider.Need{Platforms: []addrs.Platform{j.platform}, Protocols: j.in.Protocols}
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
	demands := j.policy.Accept != nil || j.policy.RequireSignature || j.policy.Keys != nil || j.policy.Fingerprints != nil
	switch {
	case j.in.TrustCache && j.in.Cache != nil && !j.locked && !demands:
		places = []place{{j.in.Cache, FromCache}}
		policy = verify.Policy{AllowUnsigned: true, AllowUnchecked: true}
		missing = "the lock file has no hashes of the version, and the package is not in the cache"
	case !j.locked:
		missing = "the lock file has no hashes of the version"
	case j.policy.RequireSignature:
		missing = "the policy demands a signature, which an installed package does not have"
	default:
		policy = verify.Policy{Accept: j.lock.Accept(j.s.Provider, j.s.Version), AllowStamps: j.policy.AllowStamps}
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
		case why == nil && !errors.Is(err, ErrNotInstalled):
			why = failed("look up", subject(j.s.Provider, j.s.Version, j.platform), err)
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
		j.event(provider.EventReused, nil)
	}
	pkg := &f.pkg.Package
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
		Progress: func(e provider.Event) {
			if e.Kind != provider.EventInstalled { // which comes after locking
				j.report(e)
			}
		},
	})
	if refused, ok := errors.AsType[*provider.Error](err); ok && j.locked && errors.Is(err, verify.ErrNotAccepted) {
		cause := refused.Err
		if len(j.lock.Accept(j.s.Provider, j.s.Version)) == 0 {
			cause = fmt.Errorf("%w: %w", lockfile.ErrUnreadable, cause)
		}
		err = j.failure("install", &lockfile.NotLockedError{Provider: j.s.Provider, Version: j.s.Version, Platform: j.platform, Err: cause})
	}
	if err != nil {
		return nil, err
	}
	if zh := checksum.WithScheme(got.Report.Local, checksum.SchemeZH); j.in.Hashes != nil && got.Fetched > 0 && len(zh) > 0 {
		h1 := checksum.WithScheme(got.Report.Local, checksum.SchemeH1)
		j.storeFailed(ctx, j.in.Hashes.StoreHashes(ctx, zh[0], h1))
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
	if errors.Is(err, provider.ErrNoVersion) && j.s.Locked && !j.in.Upgrade {
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

// reports are the reports on the packages of a version.
type reports = map[addrs.Platform]*verify.Report

// lockAnew installs a package whose version is not locked. Concurrently it hashes the packages of
// all other platforms.
func (j *job) lockAnew(ctx context.Context, f *found) (hashed reports, err error) {
	j.s.Unlocked = slices.Clone(j.others)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var hashErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		hashed, hashErr = j.hash(ctx, j.others, provider.HashOptions{Policy: j.policy, Stated: j.in.Stated})
	})
	if err = j.install(ctx, f); err != nil {
		stop() // a version that cannot be installed must not be locked
	}
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if errors.Is(hashErr, checksum.ErrMismatch) { // what else the source states is not recorded
		j.s.Reports[j.platform].Stated = nil
	}
	return hashed, hashErr
}

// extendLock installs a package with a locked hash. If the lock file may lack hashes of other
// platforms, it adds those computed here only: a registry that was taken over can sign and state
// any hashes.
func (j *job) extendLock(ctx context.Context, f *found) (reports, error) {
	if err := j.install(ctx, f); err != nil {
		return nil, err
	}
	local := j.s.Reports[j.platform].Local
	if j.s.Unlocked = j.unlocked(ctx, local); len(j.s.Unlocked) == 0 {
		return nil, nil
	}
	// If no zh of the version is known, the archive for this platform tells one.
	accept := j.lock.Accept(j.s.Provider, j.s.Version)
	known := slices.Concat(accept, local)
	own := reports{}
	if !checksum.HasScheme(known, checksum.SchemeZH) {
		var err error
		if own, err = j.hash(ctx, []addrs.Platform{j.platform}, provider.HashOptions{Policy: j.lockedPolicy()}); err != nil {
			return nil, err
		}
		known = append(known, own[j.platform].Local...)
	}

	var packages []*provider.Package
	var locked, added []addrs.Platform
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, platform := range j.s.Unlocked {
		if j.source == nil { // hash reports it
			added = append(added, platform)
			continue
		}
		wg.Go(func() {
			// After a failure, provider.Hashes requests the package again and reports the error.
			pkg, err := j.requestPackage(ctx, platform)
			mu.Lock()
			defer mu.Unlock()
			// If the source states a locked hash, the lock file decides, otherwise the caller's policy.
			if err == nil && checksum.Overlap(pkg.Evidence().Hashes, accept) {
				locked = append(locked, platform)
			} else {
				added = append(added, platform)
			}
			if err == nil && j.waiting.TryAcquire(sizeOf(pkg)) { // otherwise it is requested again
				packages = append(packages, pkg)
			}
		})
	}
	wg.Wait()
	defer func() {
		for _, pkg := range packages {
			j.waiting.Release(sizeOf(pkg))
		}
	}()

	lockedReports, lockedErr := j.hash(ctx, locked, provider.HashOptions{Policy: j.lockedPolicy(), Packages: packages})
	policy := j.policy
	policy.SameRelease = known
	addedReports, addedErr := j.hash(ctx, added, provider.HashOptions{Policy: policy, Packages: packages})
	if errors.Is(addedErr, verify.ErrOtherRelease) {
		addedErr = j.failure("lock more platforms of", fmt.Errorf("%w: the source has replaced the locked packages; "+
			"to accept the new ones, delete the provider's entry from the lock file", verify.ErrOtherRelease))
	}
	maps.Copy(own, lockedReports)
	maps.Copy(own, addedReports)
	return own, errors.Join(lockedErr, addedErr)
}

// maxWaiting bounds the bytes of the packages of all providers that wait to be hashed.
const maxWaiting = 4 << 20

// sizeOf returns about the bytes of what a source states about a package.
func sizeOf(pkg *provider.Package) (n int64) {
	for _, key := range pkg.Keys {
		n += int64(len(key.Armor) + len(key.TrustSignature))
	}
	for _, hashes := range pkg.Hashes {
		n += 100 * int64(len(hashes))
	}
	return n
}

// hash calls [provider.Hashes] unless on is empty. It may return reports beside an error.
func (j *job) hash(ctx context.Context, on []addrs.Platform, o provider.HashOptions) (reports, error) {
	if len(on) == 0 {
		return nil, nil
	}
	if j.source == nil {
		return nil, j.failure("hash the packages of", fmt.Errorf("%w: the lock file may lack hashes for %s", provider.ErrOffline, j.s.Unlocked))
	}
	o.Store, o.Limiter, o.TempDir, o.Progress = j.in.Hashes, j.packages, j.in.TempDir, j.report
	return provider.Hashes(ctx, j.source, j.s.Provider, j.s.Version, on, o)
}

// unlocked returns the other platforms if the lock file may lack hashes of them; see
// [Installer].LockPlatforms. own are the hashes of the package for this platform.
//
// It counts the archives that have an h1. Installer.Hashes tells which h1 belong to the same archive:
// one with entries for directories has two. Any other h1 counts as one archive.
func (j *job) unlocked(ctx context.Context, own []checksum.Hash) []addrs.Platform {
	if !j.locked || len(j.others) == 0 {
		return slices.Clone(j.others)
	}
	hashes := checksum.Sorted(j.lock.Accept(j.s.Provider, j.s.Version), own)
	archives, known := 0, map[checksum.Hash]bool{}
	for _, zh := range checksum.WithScheme(hashes, checksum.SchemeZH) {
		if j.in.Hashes == nil {
			break
		}
		stored, err := j.in.Hashes.Hashes(ctx, zh)
		if err != nil {
			j.storeFailed(ctx, err)
			break // report one failure only
		}
		h1 := checksum.WithScheme(stored, checksum.SchemeH1)
		if checksum.Overlap(h1, hashes) {
			archives++
		}
		for _, h := range h1 {
			known[h] = true
		}
	}
	for _, h := range checksum.WithScheme(hashes, checksum.SchemeH1) {
		if !known[h] {
			archives++
		}
	}
	if archives > len(j.others) {
		return nil
	}
	return slices.Clone(j.others)
}

// storeFailed reports the error of Installer.Hashes, which only costs time.
func (j *job) storeFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		j.event(provider.EventStoreFailed, err)
	}
}

func (j *job) failure(op string, err error) error {
	subject := j.s.Provider.String()
	if !j.s.Version.IsZero() {
		subject += " " + j.s.Version.String()
	}
	return &provider.Error{Op: op, Subject: subject, Err: err}
}

func (j *job) event(kind provider.EventKind, err error) {
	j.report(provider.Event{
		Kind: kind, Provider: j.s.Provider, Version: j.s.Version, Platform: j.platform,
		Bytes: j.s.Fetched, Total: j.s.Fetched, Err: err,
	})
}
