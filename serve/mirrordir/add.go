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
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Want is a version of a provider to add.
type Want struct {
	Provider addrs.Provider // required
	Version  addrs.Version  // required

	Platforms []addrs.Platform // if empty, all that the source lists; an error if it lists none, as network mirrors do
}

// String returns provider and version.
func (w Want) String() string { return w.Provider.String() + " " + w.Version.String() }

// AddOptions are the options of [Mirror.Add] and [Mirror.AddLocked].
type AddOptions struct {
	Policy provider.Policies // of each provider

	Parallel int // maximum of concurrent downloads; if 0 or less, 8

	// Progress, if not nil, gets the events of [provider.Receive], and [progress.Kept] or [progress.Verified] for each
	// package. Calls never overlap.
	Progress func(progress.Event)
}

// defaultParallel is used if AddOptions.Parallel is not set.
const defaultParallel = 8

// Added is a package that [Mirror.Add] has added or kept.
type Added struct {
	// Never zero.
	Provider addrs.Provider `json:"provider"`
	Version  addrs.Version  `json:"version"`
	Platform addrs.Platform `json:"platform"` // never zero

	Size    int64 `json:"size"`    // in bytes
	Fetched bool  `json:"fetched"` // the archive was downloaded

	Hashes []checksum.Hash `json:"hashes"` // that the mirror states

	Report *verify.Report `json:"report,omitempty"` // of the policy; nil if the archive was kept unread
}

// Add downloads packages from src, verifies them by o.Policy and adds them to the mirror. It writes the documents of a
// version when it has tried all wanted archives. Entries of other programs stay unless the archive is missing. When ctx
// ends, Add lists what it has added, for at most a second.
//
// An archive of the recorded size is kept unread if o.Policy accepts its record, unless [Mirror.Reindex] wrote the
// record. Otherwise the archive is judged with the evidence of src, and replaced if it is damaged or different. A
// refusal by o.Policy alone deletes nothing.
//
// Add returns the added and kept packages, sorted, also with an error, which joins a [*failure.Error] for each failure.
func (m *Mirror) Add(ctx context.Context, src provider.Source, wants []Want, o AddOptions) ([]Added, error) {
	return m.add(ctx, src, wants, o, nil)
}

// AddLocked adds each provider in lock in its locked version, as [Mirror.Add] does. Without platforms it fails. It
// accepts only archives with a locked hash; for others the error wraps [verify.ErrNotAccepted] and a
// [*lockfile.NotLockedError]. If a policy sets Accept, it wraps [verify.ErrPolicy].
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
	*adder
	want   Want
	policy verify.Policy
	locked bool            // whether policy accepts the hashes of a lock file
	source provider.Source // fetches shared documents once

	version *version // nil if it could not be opened
	unlock  func()   // or nil
	err     error    // why it could not be opened, or the documents do not list it

	shared evidence.Shared // the SHA256SUMS documents of the added packages
}

// plan returns a job for each wanted version. lock may be nil.
func (a *adder) plan(wants []Want, o AddOptions, lock *lockfile.File) ([]*job, error) {
	var jobs []*job
	index := map[address]*job{}
	for _, w := range wants {
		if err := a.m.checkWant(w); err != nil {
			return nil, failure.Wrap("mirror", w.String(), err)
		}
		key := address{provider: w.Provider, version: w.Version}
		j := index[key]
		switch {
		case j == nil:
			w.Platforms = slices.Clone(w.Platforms)
			j = &job{adder: a, want: w, policy: o.Policy.For(w.Provider), locked: lock != nil, source: provider.ShareEvidence(a.src)}
			j.shared.Budget = semaphore.NewWeighted(evidence.MaxSums)
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
		q = &queue{turn: make(chan struct{}, 1), listed: sync.OnceValues(func() (*files, error) { return a.m.listFiles(ctx, p, providerDir(p)) })}
		a.queues[p] = q
	}
	return q
}

func (m *Mirror) add(ctx context.Context, src provider.Source, wants []Want, o AddOptions, lock *lockfile.File) ([]Added, error) {
	parallel := cmp.Or(max(o.Parallel, 0), defaultParallel)
	a := &adder{
		m: m, src: src,
		slots:    semaphore.NewWeighted(int64(parallel)),
		progress: flight.InTurn(o.Progress),
		queues:   map[addrs.Provider]*queue{},
	}
	jobs, err := a.plan(wants, o, lock) // checks wants before hours of downloads
	if err != nil {
		return nil, err
	}
	// Publish what has been added even if ctx has ended.
	late, cancel := withGrace(ctx)
	defer cancel()
	var publishing sync.WaitGroup
	// More workers than slots: some check existing archives while others download.
	_ = stored.Each(context.WithoutCancel(ctx), 2*parallel, len(jobs), func(_ context.Context, i int) error {
		j := jobs[i]
		j.err = j.addVersion(ctx)
		publishing.Go(func() {
			a.publish(late, j)
			if j.unlock != nil {
				j.unlock()
			}
		})
		return nil
	})
	publishing.Wait()
	var added []Added
	var failures []error
	for _, j := range jobs {
		if j.err != nil {
			failures = append(failures, failure.Wrap("mirror", j.want.String(), j.err))
		}
		if j.version == nil {
			continue
		}
		for platform, err := range j.version.failures {
			failures = append(failures, j.explain(platform, err))
		}
		for _, t := range j.version.targets {
			if j.err == nil {
				added = append(added, t.added())
			}
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
	listed  func() (*files, error) // the files of the provider at some time of the call
	turn    chan struct{}          // full while a call publishes (not a mutex: that may wait for a file); also guards err of the jobs
	waiting []*job                 // guarded by mu of the adder
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

	q.turn <- struct{}{} // who has the turn ends with ctx
	defer func() { <-q.turn }()
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
		if j.err = err; err != nil && len(jobs) > 1 {
			// One damaged version must not affect the others.
			j.err = a.m.finish(ctx, p, versions[i:i+1])
		}
	}
}

// addVersion does the job, except that it writes no document, and keeps the lock.
func (j *job) addVersion(ctx context.Context) (err error) {
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	p := j.want.Provider
	if j.unlock, err = stored.Lock(ctx, j.m.Store, documentName(p, j.want.Version)); err != nil {
		return err
	}
	platforms := j.want.Platforms
	if len(platforms) == 0 {
		if platforms, err = j.allPlatforms(ctx); err != nil {
			return err
		}
	}
	v, err := j.m.openVersion(ctx, p, j.want.Version)
	if err != nil {
		return err
	}
	j.version, v.add = v, j.addPackage
	v.adoptable = func(ctx context.Context, name string) (bool, error) {
		there, err := j.queue(ctx, p).listed()
		return err == nil && there.has(name), err
	}
	var wg sync.WaitGroup
	for _, platform := range platforms {
		wg.Go(func() { v.put(ctx, platform) })
	}
	wg.Wait()
	return nil
}

// allPlatforms returns the platforms that the source lists.
func (j *job) allPlatforms(ctx context.Context) ([]addrs.Platform, error) {
	if err := j.slots.Acquire(ctx, 1); err != nil {
		return nil, fault.Ended(ctx)
	}
	defer j.slots.Release(1)
	versions, err := j.source.ProviderVersions(ctx, j.want.Provider)
	if err != nil {
		return nil, err
	}
	release, ok := versions.Find(j.want.Version)
	if !ok {
		return nil, versions.Unavailable(j.want.Version, addrs.Platform{})
	}
	if len(release.Platforms) == 0 {
		return nil, errors.New("the source does not list platforms; set Want.Platforms")
	}
	return release.Platforms, nil
}

// addPackage adds a package. It uses the record, then the existing archive, then the source.
func (j *job) addPackage(ctx context.Context, platform addrs.Platform) (*target, error) {
	if err := j.slots.Acquire(ctx, 1); err != nil {
		return nil, fault.Ended(ctx)
	}
	release := sync.OnceFunc(func() { j.slots.Release(1) })
	defer release()
	pkg := address{j.want.Provider, j.want.Version, platform}.pkg()
	t, err := j.version.newTarget(ctx, pkg, j.policy)
	if err != nil {
		return nil, err
	}
	kept := t.isComplete(ctx)
	if !kept {
		if t.pkg, err = j.source.ProviderPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); err != nil {
			return nil, err
		}
		if kept, err = t.adopt(ctx, j.source); err != nil {
			return nil, err
		}
	}
	kind := progress.Kept
	if kept {
		err = j.shared.Share(t.report) // nil if the archive was not read
	} else {
		kind, err = progress.Verified, j.fetch(ctx, t, release)
	}
	if err != nil {
		return nil, err
	}
	j.progress(addressOf(pkg).event(kind, t.record.Size))
	return t, nil
}

// fetch downloads the archive. It calls arrived when the next download can start.
func (j *job) fetch(ctx context.Context, t *target, arrived func()) error {
	s, err := storage.Stage(ctx, j.m.Store, j.m.TempDir)
	if err != nil {
		return err
	}
	defer s.Discard()
	o := provider.ReceiveOptions{Policy: t.policy, FetchEvidence: true, Progress: j.progress}
	got, err := provider.Receive(ctx, j.source, t.pkg, s.File, o)
	if err != nil {
		return err
	}
	if err := t.judge(ctx, s.File, got); err != nil {
		return failure.Wrap("verify", t.pkg.String(), err)
	}
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	if err := j.shared.Share(t.report); err != nil {
		return err
	}
	return t.write(ctx, s, arrived)
}
