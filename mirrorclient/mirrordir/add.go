package mirrordir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
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

	// Parallel is how many archives arrive at the same time; 0 means 8.
	Parallel int

	// ZHOnly leaves out the h1 of the archives. To compute one is to inflate the
	// whole archive, but without it an unpacked package cannot be compared with
	// what the mirror states.
	ZHOnly bool

	// NoEvidence leaves out the SHA256SUMS document, the signature and the keys,
	// unless Policy looks at them, and keeps none of them. Then only the hashes
	// survive: who reads the mirror must trust it.
	NoEvidence bool

	// Progress is told each step of the job; nil: nobody is. It is called by one
	// goroutine at a time and holds up the work while it runs. Events of different
	// packages are mixed. Beside those of [provider.Receive] there are
	// [provider.EventVerified], when a package is in its place, and [EventKept].
	Progress func(provider.Event)
}

// EventKept is reported by [Mirror.Add]: the package is in the mirror already and is what
// the policy wants, so its archive is not fetched.
const EventKept provider.EventKind = "kept"

// defaultParallel is what Options.Parallel means by 0.
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
	slots   slots // one for each archive that is worked on
	index   indexQueue
	report  func(provider.Event)
	shelves map[addrs.Provider]*shelf

	mu    sync.Mutex
	again map[addrs.Provider][]*versionAdder // whose listing may have been too early
}

func (m *Mirror) add(ctx context.Context, src provider.Source, jobs []job, o Options) ([]Added, error) {
	if o.Parallel < 0 {
		return nil, fmt.Errorf("mirror: Options.Parallel is %d", o.Parallel)
	}
	a := &adder{
		Mirror: m, src: src, options: o,
		slots:   make(slots, cmp.Or(o.Parallel, defaultParallel)),
		report:  serialised(o.Progress),
		shelves: map[addrs.Provider]*shelf{},
	}
	for _, j := range jobs {
		a.shelves[j.Provider] = &shelf{}
	}
	if err := a.prepare(ctx, jobs); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var added []Added
	var failures []failure
	// More than there are slots: while some write their documents, others fetch.
	inParallel(2*cap(a.slots), len(jobs), func(i int) {
		done, failed := a.version(ctx, &jobs[i])
		mu.Lock()
		defer mu.Unlock()
		added, failures = append(added, done...), append(failures, failed...)
	})
	failures = append(failures, a.publishLate(ctx)...)
	slices.SortFunc(added, func(x, y Added) int {
		return cmp.Or(x.Provider.Compare(y.Provider), x.Version.Compare(y.Version), x.Platform.Compare(y.Platform))
	})
	return added, joined(failures)
}

// prepare does what must be done before the first file is written.
func (a *adder) prepare(ctx context.Context, jobs []job) error {
	d, ok := a.Storage.(interface{ clean(context.Context) error })
	if !ok {
		return nil
	}
	for _, j := range jobs {
		// Said before hours of downloads.
		if err := nameable(homeOf(j.Provider), runtime.GOOS); err != nil {
			return failed("mirror", j.String(), err)
		}
	}
	if err := d.clean(ctx); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// serialised makes report safe for concurrent use; nil is silent.
func serialised(report func(provider.Event)) func(provider.Event) {
	if report == nil {
		return func(provider.Event) {}
	}
	turn := make(chan struct{}, 1)
	return func(e provider.Event) {
		turn <- struct{}{}
		defer func() { <-turn }()
		report(e)
	}
}

// inParallel calls do with 0 to n-1, at most limit at the same time.
func inParallel(limit, n int, do func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(limit, n) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// failure is why one package, or one version, is not in the mirror.
type failure struct {
	subject string
	err     error
}

// joined returns the failures in one error, in the order of their subjects, and each
// cause once: where the same request failed for many packages, its error is one.
func joined(failures []failure) error {
	slices.SortStableFunc(failures, func(a, b failure) int { return cmp.Compare(a.subject, b.subject) })
	var list []error
	seen := map[string]bool{}
	for _, f := range failures {
		if text := f.err.Error(); !seen[text] {
			seen[text] = true
			list = append(list, f.err)
		}
	}
	return errors.Join(list...)
}
