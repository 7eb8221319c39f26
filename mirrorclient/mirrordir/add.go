package mirrordir

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Options are the options of [Mirror.Add] and [Mirror.AddLocked].
type Options struct {
	// Policy decides which packages are accepted. The zero Policy requires signed packages; see
	// [verify.Policy.AllowUnsigned].
	Policy verify.Policy

	// Parallel is the maximum number of concurrent downloads. If zero or less, 8 is used.
	Parallel int

	// ZHOnly disables the computation of h1 hashes of unpacked packages.
	ZHOnly bool

	// NoEvidence disables the recording of evidence. Then clients of the mirror must trust it.
	NoEvidence bool

	// Progress, if not nil, is called for the events of [provider.Receive], [EventKept], and
	// [provider.EventVerified] for an added package. Calls never overlap.
	Progress func(provider.Event)
}

// EventKept means that the mirror already has an accepted archive.
const EventKept provider.EventKind = "kept"

// defaultParallel is used if Options.Parallel is not set.
const defaultParallel = 8

// Added is a package that [Mirror.Add] has added or found in the mirror.
type Added struct {
	Provider addrs.Provider `json:"provider"` // from Want
	Version  addrs.Version  `json:"version"`  // from Want
	Platform addrs.Platform `json:"platform"` // from Want or the source

	Size    int64 `json:"size"`    // size of the archive in bytes
	Fetched bool  `json:"fetched"` // whether the archive was downloaded

	// Hashes are the hashes that the mirror states for the archive.
	Hashes []checksum.Hash `json:"hashes"`

	// Report is the report of the policy about the archive. It is nil if the archive was kept without
	// reading it: its record is accepted, but nothing shows that the archive is still the recorded one.
	Report *verify.Report `json:"report,omitempty"`
}

// Add downloads packages from src, verifies them with o.Policy and adds them to the mirror. The
// documents list a version once all its wanted archives have been tried, with those that are there.
// Entries that other programs have written stay, except for missing archives.
//
// An existing archive is kept without a request if it has the recorded size and evidence, and o.Policy
// accepts its record. It is read only for a missing h1; [Mirror.Check] reads all archives. Otherwise it is judged with the evidence of src, and
// replaced if it is damaged or another archive. An invalid Want fails the call before anything is added.
//
// Add returns those wanted packages that are now in the mirror, sorted, also with an error. The error joins a
// [*provider.Error] for each failure. More than 4 MiB of different SHA256SUMS documents of one
// version are refused with [github.com/tofureg/tofureg/failure.ErrTooLarge].
func (m *Mirror) Add(ctx context.Context, src provider.Source, wants []Want, o Options) ([]Added, error) {
	jobs, err := plan(wants)
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		jobs[i].policy = o.Policy
	}
	return m.add(ctx, src, jobs, o)
}

// adder is the state of one call of Add.
type adder struct {
	*Mirror
	src      provider.Source
	options  Options
	slots    *semaphore.Weighted // one for each archive in work
	queue    *queue
	progress func(provider.Event)
}

func (m *Mirror) add(ctx context.Context, src provider.Source, jobs []job, o Options) ([]Added, error) {
	for _, j := range jobs {
		// Check this before hours of downloads.
		if err := m.checkProviderDir(j.Provider); err != nil {
			return nil, failed("mirror", j.String(), err)
		}
	}
	// Publish what has been added even if ctx has ended.
	graceCtx, cancel := withGrace(ctx)
	defer cancel()
	parallel := cmp.Or(max(o.Parallel, 0), defaultParallel)
	a := &adder{
		Mirror: m, src: src, options: o,
		slots:    semaphore.NewWeighted(int64(parallel)),
		queue:    &queue{Mirror: m, ctx: graceCtx, waiting: map[addrs.Provider][]finishedVersion{}},
		progress: flight.InTurn(o.Progress),
	}
	results := make([]result, len(jobs))
	// More workers than slots: some check existing archives while others download.
	_ = each(context.WithoutCancel(ctx), 2*parallel, len(jobs), func(_ context.Context, i int) error {
		results[i].added, results[i].failures = a.addVersion(ctx, &jobs[i])
		if ctx.Err() == nil || len(results[i].added) > 0 {
			a.queue.add(jobs[i].Provider, jobs[i].Version, &results[i].unpublished)
		}
		return nil
	})
	a.queue.workers.Wait()
	var added []Added
	var failures []error
	for i, r := range results {
		failures = append(failures, r.failures...)
		if r.unpublished != nil {
			failures = append(failures, failed("mirror", jobs[i].String(), r.unpublished))
			continue
		}
		added = append(added, r.added...)
	}
	slices.SortFunc(added, func(x, y Added) int {
		return cmp.Or(x.Provider.Compare(y.Provider), x.Version.Compare(y.Version), x.Platform.Compare(y.Platform))
	})
	return added, joined(failures)
}

// result is the result of one job.
type result struct {
	added       []Added
	failures    []error
	unpublished error // why the documents do not list the version
}

// checkProviderDir returns an error if the storage cannot have a directory for a provider.
func (m *Mirror) checkProviderDir(p addrs.Provider) error {
	l, ok := m.Storage.(Local)
	if !ok {
		return nil
	}
	_, err := l.LocalPath(providerDir(p))
	return err
}

// grace is how long an operation may continue after its context has ended, so that it does not leave
// a package half replaced or unlisted. If this is too short, the next call completes the work.
const grace = time.Second

// withGrace returns a context that ends shortly after ctx.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, func() { cancel(fault.Ended(ctx)) })
		context.AfterFunc(late, func() { timer.Stop() })
	})
	return late, func() { stop(); cancel(nil) }
}

// joined joins failures, sorted by subject, without duplicates: packages that share a failed request
// have the same error.
func joined(failures []error) error {
	slices.SortFunc(failures, func(a, b error) int {
		return cmp.Or(cmp.Compare(subjectOf(a), subjectOf(b)), cmp.Compare(a.Error(), b.Error()))
	})
	return errors.Join(slices.CompactFunc(failures, func(a, b error) bool { return a.Error() == b.Error() })...)
}

func subjectOf(err error) string {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e.Subject
	}
	return ""
}
