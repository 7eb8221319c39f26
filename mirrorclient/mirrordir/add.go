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

// Options for [Mirror.Add] and [Mirror.AddLocked]. The zero value is strict, keeps all
// evidence and computes both hashes.
type Options struct {
	// Policy decides which packages are accepted. The zero Policy wants signed
	// packages, which a mirror as the source has only if it keeps the evidence; see
	// [verify.Policy.AllowUnsigned]. With RecordStated an h1 that the source states
	// is written into the documents, instead of computing it. Its Limits hold for
	// the transfer too.
	Policy verify.Policy

	// Parallel is the maximum number of archives that arrive at the same time. If it is
	// zero or less, 8 is used.
	Parallel int

	// ZHOnly leaves out the h1 of the archives. To compute one is to inflate the
	// whole archive, but without it an unpacked package cannot be compared with
	// what the mirror states.
	ZHOnly bool

	// NoEvidence leaves out the SHA256SUMS document, the signature and the keys,
	// unless Policy looks at them, and keeps none of them. Then only the hashes
	// survive: who reads the mirror must trust it.
	NoEvidence bool

	// Progress, if not nil, is called for each step of the job. It is called by one
	// goroutine at a time and holds up the work while it runs. Events of different
	// packages are mixed. Beside those of [provider.Receive] there are
	// [provider.EventVerified], when a package is in its place, and [EventKept].
	Progress func(provider.Event)
}

// EventKept is reported by [Mirror.Add]: the package is in the mirror already and is what
// the policy wants, so its archive is not fetched.
const EventKept provider.EventKind = "kept"

// defaultParallel is used if Options.Parallel is not set.
const defaultParallel = 8

// Added is a package that was wanted and is now in the mirror.
type Added struct {
	Provider addrs.Provider `json:"provider"` // as it was wanted
	Version  addrs.Version  `json:"version"`  // likewise
	Platform addrs.Platform `json:"platform"` // likewise, or as the source lists it

	// Size of the archive in bytes.
	Size int64 `json:"size"`

	// Fetched tells that the archive was fetched; if not, it was there.
	Fetched bool `json:"fetched"`

	// Hashes are what the mirror states about the archive.
	Hashes []checksum.Hash `json:"hashes"`

	// Report is the verdict of the policy. For an archive that was there it rests on
	// what is on record; see [Mirror.Check].
	Report *verify.Report `json:"report"`
}

// Add puts packages into the mirror: it fetches what is missing from src, verifies it by
// o.Policy, and brings the documents up to date. The mirror may be served and read, and
// added to by other processes, all the time: the archive comes first, then the document
// of its version, when all wanted archives of that version are there, then the index.
// Each document is replaced as a whole.
//
// A document lists what is on record, and keeps two kinds of entries that others have made:
// those for files that are no archive of the version here, and those for archives here without
// a record. Other content is dropped.
//
// What is there is not fetched again. If the archive has the size on record, and the
// policy accepts the hashes and the evidence on record, nothing of it is read and src is
// not asked at all; [Mirror.Check] is what reads it all. An archive without a record, as
// the CLI leaves it, is hashed and judged with the evidence of src, and fetched only if it
// is not the one that src has.
//
// The result has one element for each package that is now there, sorted, also beside an
// error. When a package fails, only those fail with it that depend on the same request; the
// error joins all failures, each a [*provider.Error].
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

// adder does one call of Add.
type adder struct {
	*Mirror
	src     provider.Source
	options Options
	slots   *semaphore.Weighted // one for each archive that is worked on
	queue   *queue
	report  func(provider.Event)
}

func (m *Mirror) add(ctx context.Context, src provider.Source, jobs []job, o Options) ([]Added, error) {
	for _, j := range jobs {
		// Said before hours of downloads.
		if err := m.nameable(j.Provider); err != nil {
			return nil, failed("mirror", j.String(), err)
		}
	}
	// Even if ctx has ended: what has arrived is to be found.
	late, cancel := withGrace(ctx)
	defer cancel()
	parallel := cmp.Or(max(o.Parallel, 0), defaultParallel)
	a := &adder{
		Mirror: m, src: src, options: o,
		slots:  semaphore.NewWeighted(int64(parallel)),
		queue:  &queue{Mirror: m, ctx: late, waiting: map[addrs.Provider][]finished{}},
		report: flight.InTurn(o.Progress),
	}
	results := make([]result, len(jobs))
	// More than there are slots: while some look at what is there, others fetch.
	_ = each(context.WithoutCancel(ctx), 2*parallel, len(jobs), func(_ context.Context, i int) error {
		results[i].added, results[i].failures = a.version(ctx, &jobs[i])
		if ctx.Err() == nil || len(results[i].added) > 0 {
			a.queue.add(jobs[i].Provider, jobs[i].Version, &results[i].unpublished)
		}
		return nil
	})
	a.queue.wait()
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

// result is what has become of one version.
type result struct {
	added       []Added
	failures    []error
	unpublished error // why the documents do not list it
}

// nameable returns why the storage cannot have a directory for a provider.
func (m *Mirror) nameable(p addrs.Provider) error {
	l, ok := m.Storage.(Local)
	if !ok {
		return nil
	}
	_, err := l.LocalPath(homeOf(p))
	return err
}

// grace is how long work goes on that has begun when a context ends: to leave it half done
// would leave a mirror that lacks what it had before.
const grace = 10 * time.Second

// withGrace returns a context that ends a little after ctx.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, func() { cancel(fault.Ended(ctx)) })
		context.AfterFunc(late, func() { timer.Stop() })
	})
	return late, func() { stop(); cancel(nil) }
}

// joined returns the failures in one error, in the order of their subjects, and each once: where the
// same request failed for many packages, its error is one.
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
