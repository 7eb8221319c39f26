package mirrordir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/evidence"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Want is a version of a provider to add.
type Want struct {
	Provider addrs.Provider // required
	Version  addrs.Version  // required

	// Platforms are the platforms to add. If empty, all that the source lists; network mirrors list none,
	// which is an error.
	Platforms []addrs.Platform
}

// String returns provider and version.
func (w Want) String() string { return w.Provider.String() + " " + w.Version.String() }

// AddOptions are the options of [Mirror.Add] and [Mirror.AddLocked].
type AddOptions struct {
	// Policy returns the policy for a provider.
	Policy provider.Policies

	// Parallel is the maximum number of concurrent downloads. If zero or less, 8 is used.
	Parallel int

	// ZHOnly computes no h1 of archives, unless Policy needs it.
	ZHOnly bool

	// Progress, if not nil, is called for the events of [provider.Receive], [progress.Kept], and
	// [progress.Verified] for an added package. Calls never overlap.
	Progress func(progress.Event)
}

// defaultParallel is used if AddOptions.Parallel is not set.
const defaultParallel = 8

// Added is a package that [Mirror.Add] has added or found in the mirror.
type Added struct {
	Provider addrs.Provider `json:"provider"` // never zero
	Version  addrs.Version  `json:"version"`  // never zero
	Platform addrs.Platform `json:"platform"` // never zero

	Size    int64 `json:"size"`    // in bytes
	Fetched bool  `json:"fetched"` // whether the archive was downloaded

	// Hashes are those that the mirror states.
	Hashes []checksum.Hash `json:"hashes"`

	// Report is that of the policy, nil if the archive was kept unread.
	Report *verify.Report `json:"report,omitempty"`
}

// Add downloads packages from src, verifies them by o.Policy and adds them to the mirror. When all wanted
// archives of a version have been tried, it writes the documents. Entries of other programs stay, except
// for missing archives.
//
// An existing archive of the recorded size is kept unread if o.Policy accepts its record, and the record
// has what o records. Otherwise it is judged with the evidence of src, and replaced if it is damaged or
// another archive. A refusal by o.Policy alone deletes nothing.
//
// Add returns the packages that it has added or kept, sorted, also with an error. The error joins a
// [*failure.Error] for each failure.
func (m *Mirror) Add(ctx context.Context, src provider.Source, wants []Want, o AddOptions) ([]Added, error) {
	return m.add(ctx, src, wants, o, nil)
}

// AddLocked adds each provider in lock in its locked version for these platforms, as [Mirror.Add]
// does. It accepts only archives with a locked hash, so no policy may set Accept: [verify.ErrPolicy].
// Without platforms it fails.
//
// For a package without a locked hash, the error wraps [verify.ErrNotAccepted] and a
// [*lockfile.NotLockedError].
func (m *Mirror) AddLocked(ctx context.Context, src provider.Source, lock *lockfile.File, platforms []addrs.Platform, o AddOptions) ([]Added, error) {
	if len(platforms) == 0 {
		return nil, errors.New("mirror locked providers: the platforms are missing")
	}
	var wants []Want
	for e := range lock.All() {
		if !o.Policy.For(e.Provider).Accept.IsZero() {
			return nil, failure.Wrap("mirror", e.Provider.String(), fmt.Errorf("%w: Accept is set, but the lock file has the accepted hashes", verify.ErrPolicy))
		}
		wants = append(wants, Want{Provider: e.Provider, Version: e.Version, Platforms: platforms})
	}
	return m.add(ctx, src, wants, o, lock)
}

// job is one version of a provider that is to be added.
type job struct {
	want   Want
	policy verify.Policy
	locked bool // whether policy accepts the hashes of a lock file

	version     *version // nil if it could not be opened
	unlock      func()
	failures    []error
	unpublished error // why the documents do not list the version
}

// plan returns a job for each wanted version. lock may be nil.
func (m *Mirror) plan(wants []Want, o AddOptions, lock *lockfile.File) ([]*job, error) {
	var jobs []*job
	index := map[address]*job{}
	for _, w := range wants {
		if err := m.checkWant(w); err != nil {
			return nil, failure.Wrap("mirror", w.String(), err)
		}
		key := address{provider: w.Provider, version: w.Version}
		j := index[key]
		switch {
		case j == nil:
			w.Platforms = slices.Clone(w.Platforms)
			j = &job{want: w, policy: o.Policy.For(w.Provider), locked: lock != nil}
			if j.locked {
				j.policy.Accept = lock.Accept(w.Provider, w.Version)
			}
			jobs = append(jobs, j)
			index[key] = j
		case len(w.Platforms) == 0 || len(j.want.Platforms) == 0:
			j.want.Platforms = nil
		default:
			j.want.Platforms = append(j.want.Platforms, w.Platforms...)
		}
	}
	for _, j := range jobs {
		slices.SortFunc(j.want.Platforms, addrs.Platform.Compare)
		j.want.Platforms = slices.Compact(j.want.Platforms)
	}
	return jobs, nil
}

// adder is the state of one call of Add.
type adder struct {
	m        *Mirror
	src      provider.Source
	zhOnly   bool
	slots    *semaphore.Weighted // one for each archive in work
	progress func(progress.Event)

	mu     sync.Mutex
	queues map[addrs.Provider]*queue
}

// queue returns the queue of a provider.
func (a *adder) queue(ctx context.Context, p addrs.Provider) *queue {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.queues[p]
	if q == nil {
		q = &queue{listed: sync.OnceValues(func() (*files, error) { return a.m.listFiles(ctx, p, providerDir(p)) })}
		a.queues[p] = q
	}
	return q
}

func (m *Mirror) add(ctx context.Context, src provider.Source, wants []Want, o AddOptions, lock *lockfile.File) ([]Added, error) {
	jobs, err := m.plan(wants, o, lock) // checks wants before hours of downloads
	if err != nil {
		return nil, err
	}
	// Publish what has been added even if ctx has ended.
	late, cancel := withGrace(ctx)
	defer cancel()
	parallel := cmp.Or(max(o.Parallel, 0), defaultParallel)
	a := &adder{
		m: m, src: src, zhOnly: o.ZHOnly,
		slots:    semaphore.NewWeighted(int64(parallel)),
		progress: flight.InTurn(o.Progress),
		queues:   map[addrs.Provider]*queue{},
	}
	var publishing sync.WaitGroup
	// More workers than slots: some check existing archives while others download.
	_ = stored.Each(context.WithoutCancel(ctx), 2*parallel, len(jobs), func(_ context.Context, i int) error {
		j := jobs[i]
		a.addVersion(ctx, j)
		publishing.Go(func() {
			a.publish(late, j)
			j.unlock()
		})
		return nil
	})
	publishing.Wait()
	var added []Added
	var failures []error
	for _, j := range jobs {
		failures = append(failures, j.failures...)
		if j.version == nil {
			continue
		}
		for platform, err := range j.version.failures {
			failures = append(failures, j.explain(platform, err))
		}
		if j.unpublished != nil {
			failures = append(failures, failure.Wrap("mirror", j.want.String(), j.unpublished))
			continue
		}
		for _, t := range j.version.targets {
			added = append(added, t.added())
		}
	}
	slices.SortFunc(added, func(x, y Added) int {
		return cmp.Or(x.Provider.Compare(y.Provider), x.Version.Compare(y.Version), x.Platform.Compare(y.Platform))
	})
	// Packages that share a failed request have the same error.
	subject := func(err error) string {
		if e, ok := errors.AsType[*failure.Error](err); ok {
			return e.Subject
		}
		return ""
	}
	slices.SortFunc(failures, func(a, b error) int {
		return cmp.Or(cmp.Compare(subject(a), subject(b)), cmp.Compare(a.Error(), b.Error()))
	})
	return added, errors.Join(slices.CompactFunc(failures, func(a, b error) bool { return a.Error() == b.Error() })...)
}

// explain returns the error for a package that could not be added.
func (j *job) explain(platform addrs.Platform, err error) error {
	err = failure.Wrap("mirror", address{j.want.Provider, j.want.Version, platform}.pkg().String(), err)
	if e, ok := errors.AsType[*failure.Error](err); ok && j.locked && errors.Is(err, verify.ErrNotAccepted) {
		// Say how to lock the platform.
		err = &failure.Error{Op: e.Op, Subject: e.Subject, Err: &lockfile.NotLockedError{Provider: j.want.Provider, Version: j.want.Version, Platform: platform, Err: e.Err}}
	}
	return err
}

// queue has the jobs of a provider whose versions are published together, after those before them.
type queue struct {
	listed     func() (*files, error) // the files of the provider at some time of the call
	publishing sync.Mutex             // also guards unpublished of the jobs
	waiting    []*job                 // guarded by mu of the adder
}

// publish publishes the version of a job together with those that are added while others are published.
func (a *adder) publish(ctx context.Context, j *job) {
	if j.version == nil || len(j.version.targets) == 0 {
		return
	}
	p := j.want.Provider
	q := a.queue(ctx, p)
	a.mu.Lock()
	q.waiting = append(q.waiting, j)
	a.mu.Unlock()

	q.publishing.Lock()
	defer q.publishing.Unlock()
	a.mu.Lock()
	var jobs []*job // empty if another call has published the version
	jobs, q.waiting = q.waiting, nil
	a.mu.Unlock()
	if len(jobs) == 0 {
		return
	}
	var versions []*version
	for _, j := range jobs {
		versions = append(versions, j.version)
	}
	err := a.m.finish(ctx, p, versions)
	for i, j := range jobs {
		if j.unpublished = err; err != nil && len(jobs) > 1 {
			// One damaged version must not affect the others.
			j.unpublished = a.m.finish(ctx, p, versions[i:i+1])
		}
	}
}

// versionAdder adds the packages of one version.
type versionAdder struct {
	a      *adder
	job    *job
	source provider.Source // fetches shared documents once
	stop   context.CancelCauseFunc

	shared evidence.Shared // the documents of the added packages
}

// addVersion does one job, except that it writes no document, and keeps the lock.
func (a *adder) addVersion(ctx context.Context, j *job) {
	j.unlock = func() {}
	fail := func(err error) { j.failures = []error{failure.Wrap("mirror", j.want.String(), err)} }
	if ctx.Err() != nil {
		fail(fault.Ended(ctx))
		return
	}
	unlock, err := a.m.lock(ctx, documentName(j.want.Provider, j.want.Version))
	if err != nil {
		fail(err)
		return
	}
	j.unlock = unlock
	late, cancel := withGrace(ctx)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	v := &versionAdder{a: a, job: j, source: provider.ShareEvidence(a.src), stop: stop}
	v.shared.Budget = semaphore.NewWeighted(evidence.MaxSums)
	platforms := j.want.Platforms
	if len(platforms) == 0 {
		if platforms, err = v.allPlatforms(ctx); err != nil {
			fail(err)
			return
		}
	}
	j.version, err = a.m.openVersion(ctx, j.want.Provider, j.want.Version)
	if err != nil {
		j.version = nil
		fail(err)
		return
	}
	j.version.adoptable = func(ctx context.Context, name string) (bool, error) {
		there, err := a.queue(ctx, j.want.Provider).listed()
		return err == nil && there.has(name), err
	}
	j.version.add = func(again context.Context, platform addrs.Platform) (*target, error) {
		if again == ctx {
			return v.addPackage(ctx, late, platform)
		}
		return v.addPackage(again, again, platform)
	}
	var wg sync.WaitGroup
	for _, platform := range platforms {
		wg.Go(func() { j.version.put(ctx, platform) })
	}
	wg.Wait()
}

// allPlatforms returns the platforms that the source lists.
func (v *versionAdder) allPlatforms(ctx context.Context) ([]addrs.Platform, error) {
	if err := v.a.slots.Acquire(ctx, 1); err != nil {
		return nil, fault.Ended(ctx)
	}
	defer v.a.slots.Release(1)
	versions, err := v.source.ProviderVersions(ctx, v.job.want.Provider)
	if err != nil {
		return nil, err
	}
	release, ok := versions.Find(v.job.want.Version)
	if !ok {
		return nil, versions.Unavailable(v.job.want.Version, addrs.Platform{})
	}
	if len(release.Platforms) == 0 {
		return nil, errors.New("the source does not list platforms; set Want.Platforms")
	}
	return release.Platforms, nil
}

// addPackage adds a package. It uses the record, then the existing archive, then the source. late ends
// shortly after the context of the call.
func (v *versionAdder) addPackage(ctx, late context.Context, platform addrs.Platform) (*target, error) {
	if err := v.a.slots.Acquire(ctx, 1); err != nil {
		return nil, fault.Ended(ctx)
	}
	release := sync.OnceFunc(func() { v.a.slots.Release(1) })
	defer release()
	pkg := address{v.job.want.Provider, v.job.want.Version, platform}.pkg()
	t, err := v.job.version.newTarget(ctx, pkg, v.job.policy, v.a.zhOnly)
	if err != nil {
		return nil, err
	}
	kept, err := t.isComplete(ctx)
	if err != nil {
		return nil, err
	}
	if !kept {
		if t.pkg, err = v.source.ProviderPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); err != nil {
			return nil, err
		}
		if kept, err = t.adopt(ctx, v.source); err != nil {
			return nil, err
		}
	}
	kind := progress.Kept
	if kept {
		err = v.shareSums(t.report) // nil if the archive was not read
	} else {
		kind, err = progress.Verified, v.fetch(ctx, late, t, release)
	}
	if err != nil {
		return nil, err
	}
	v.a.progress(addressOf(pkg).event(kind, t.record.Size))
	return t, nil
}

// fetch downloads the archive. It calls arrived when the next download can start. It writes a package
// whose SHA256SUMS document is within the limit even if the next document stops the version.
func (v *versionAdder) fetch(ctx, late context.Context, t *target, arrived func()) error {
	s, err := v.a.m.Stage(ctx)
	if err != nil {
		return err
	}
	defer s.Discard()
	o := provider.ReceiveOptions{Policy: t.policy, FetchEvidence: true, Progress: v.a.progress}
	got, err := provider.Receive(ctx, v.source, t.pkg, s.File, o)
	if err != nil {
		return err
	}
	if err := t.judge(ctx, s.File, got); err != nil {
		return failure.Wrap("verify", t.pkg.String(), err)
	}
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	if err := v.shareSums(t.report); err != nil {
		return err
	}
	return t.write(late, s, arrived)
}

// shareSums lets reports with equal SHA256SUMS documents share one. If the documents are too large, it stops the version.
func (v *versionAdder) shareSums(report *verify.Report) error {
	err := v.shared.Share(report)
	if err != nil {
		v.stop(err)
	}
	return err
}
