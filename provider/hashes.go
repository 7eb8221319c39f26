package provider

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/evidence"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// HashOptions are the options of [Hashes].
type HashOptions struct {
	Policy verify.Policy // as in [DownloadOptions]

	// Locked, if not zero, has the hashes of a locked version. If the source states one of them for a package, they
	// replace [verify.Policy.Accept], otherwise [verify.Policy.SameRelease].
	Locked checksum.Set

	// Stated lets an h1 in [verify.Report.Stated] replace a download, at registry.opentofu.org only, if Policy accepts
	// the stated hashes: see [verify.CheckedSums.JudgeStated].
	Stated bool

	NoDownload bool // platforms that need a download fail with [verify.ErrNotStated]

	Store HashStore // if not nil, for the hashes of downloaded archives that Policy accepts

	Limiter *Limiter // if nil, the call has its own

	TempDir  string               // for archives; if empty, [os.TempDir]
	Progress func(progress.Event) // as in [DownloadOptions]
}

// HashStore, such as a [github.com/tofureg/tofureg/provider/hashstore.Dir], stores hashes, so that each archive is
// downloaded only once. It must be safe for concurrent use. Only users who may write the lock files should be able to
// write to it.
type HashStore interface {
	Hashes(ctx context.Context, zh checksum.Hash) ([]checksum.Hash, error) // those stored for the archive, or nil

	StoreHashes(ctx context.Context, zh checksum.Hash, hashes []checksum.Hash) error // replaces them
}

// Hashes returns what a lock file records about p at v: for each platform, at least one, a report whose
// [verify.Report.Recordable] has the zh and the h1 of the archive (two h1 if the archive has entries for
// directories), or the h1 of an unpacked package.
//
// Hashes judges each package by o.Policy. It downloads an archive unless o.Store has the h1 for the stated zh, or
// o.Stated applies. If some platforms fail, the map has the reports of the others, and the error is a
// [*HashesError].
func Hashes(ctx context.Context, src Source, p addrs.Provider, v addrs.Version, on []addrs.Platform, o HashOptions) (map[addrs.Platform]*verify.Report, error) {
	o.Progress = flight.InTurn(o.Progress)
	if o.Limiter == nil {
		o.Limiter = new(Limiter)
	}
	o.Limiter.setup()
	h := &hashing{o: o, src: ShareEvidence(src), version: Package{Provider: p, Version: v}, shared: evidence.Shared{Budget: o.Limiter.documents}}
	switch {
	case p.IsZero() || v.IsZero() || slices.Contains(on, addrs.Platform{}):
		return nil, failure.Wrap("hash", h.version.String(), errors.New("a provider, version or platform is missing"))
	case len(on) == 0:
		return nil, failure.Wrap("hash", h.version.String(), errors.New("no platform is named"))
	}
	on = slices.Compact(slices.SortedFunc(slices.Values(on), addrs.Platform.Compare))
	if o.Stated || o.NoDownload {
		// One package, before the others, may make further requests unnecessary.
		done, err := acquire(ctx, o.Limiter.asking)
		if err != nil {
			return nil, failure.Wrap("hash", h.version.String(), err)
		}
		h.sibling, _ = h.src.ProviderPackage(ctx, p, v, on[0])
		done()
	}
	outer := ctx
	ctx, h.stop = context.WithCancelCause(ctx)
	defer h.stop(nil)
	reports, errs := make([]*verify.Report, len(on)), make([]error, len(on))
	var wg sync.WaitGroup
	for i, platform := range on {
		wg.Go(func() { reports[i], errs[i] = h.hash(ctx, platform) })
	}
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil && outer.Err() == nil {
		return nil, failure.Wrap("hash", h.version.String(), cause) // the documents are too large
	}
	result, failed := make(map[addrs.Platform]*verify.Report, len(on)), map[addrs.Platform]error{}
	ended, refuted := false, false
	for i, platform := range on {
		if errs[i] == nil {
			result[platform] = reports[i]
			continue
		}
		failed[platform] = errs[i]
		refuted = refuted || errors.Is(errs[i], checksum.ErrMismatch)
		if ctx.Err() != nil && errors.Is(errs[i], ctx.Err()) {
			// The error of ctx is reported once.
			if ended {
				errs[i] = nil
			}
			ended = true
		}
	}
	for _, report := range result {
		if refuted { // what else the source states is not recorded
			report.Stated = nil
		}
	}
	if len(failed) == 0 {
		return result, nil
	}
	return result, &HashesError{failed, fault.Join(errs...)}
}

// HashesError says for which platforms [Hashes] failed.
type HashesError struct {
	Platforms map[addrs.Platform]error // not empty
	Err       error                    // joins them; it wraps the error of each
}

func (e *HashesError) Error() string { return fmt.Sprint(e.Err) }
func (e *HashesError) Unwrap() error { return e.Err }

// hashing is a call of Hashes.
type hashing struct {
	o       HashOptions
	src     Source  // with checked answers
	version Package // its provider and version

	sibling *Package // for the first platform, may state hashes of others; nil unless o.Stated or o.NoDownload

	stop context.CancelCauseFunc // when the documents are too large

	shared evidence.Shared // the documents of all reports
}

// hash returns the report of one platform, or an *Error.
func (h *hashing) hash(ctx context.Context, platform addrs.Platform) (*verify.Report, error) {
	about := h.version
	about.Platform = platform
	report, size, err := h.report(ctx, platform)
	if err == nil {
		if err = h.shared.Share(report); err != nil {
			h.stop(err)
		}
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // err may be a consequence
	}
	if err != nil {
		return nil, failure.Wrap("hash", about.String(), err)
	}
	h.event(progress.Event{Kind: progress.Hashed, Platform: platform, Bytes: size, Total: size})
	return report, nil
}

// report returns the report of one platform, and the number of fetched bytes.
func (h *hashing) report(ctx context.Context, platform addrs.Platform) (*verify.Report, int64, error) {
	done, err := acquire(ctx, h.o.Limiter.asking)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	if pkg, ok := h.sibling.infer(platform); ok {
		report, err := h.withoutArchive(ctx, pkg, h.policy(pkg))
		if err == nil || errors.Is(err, checksum.ErrMismatch) && !errors.Is(err, verify.ErrNotStated) {
			return report, 0, err
		}
	}
	pkg := h.sibling
	if pkg == nil || pkg.Platform != platform {
		if pkg, err = h.src.ProviderPackage(ctx, h.version.Provider, h.version.Version, platform); err != nil {
			return nil, 0, err
		}
	}
	policy := h.policy(pkg)
	if pkg.Dir != "" {
		report, err := h.directory(ctx, pkg, policy)
		return report, 0, err
	}
	report, err := h.withoutArchive(ctx, pkg, policy)
	switch {
	case !errors.Is(err, verify.ErrNotStated):
		return report, 0, err
	case h.o.NoDownload:
		return nil, 0, fmt.Errorf("%w, and HashOptions.NoDownload is set", err)
	}
	// Packages can be large, so the places in asking are kept until here.
	release, err := h.o.Limiter.Acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	done()
	return h.download(ctx, pkg, policy)
}

// policy returns the policy for a package. If the source states a locked hash for it, the lock file decides.
// Otherwise the caller's policy decides, and signed sums must list a locked archive: a registry that was
// taken over can sign and state any hashes.
func (h *hashing) policy(pkg *Package) verify.Policy {
	p := h.o.Policy
	switch {
	case h.o.Locked.IsZero():
	case hashlist.Overlap(pkg.Evidence().Hashes, h.o.Locked.Hashes()):
		p.Accept = h.o.Locked
	default:
		p.SameRelease = h.o.Locked
	}
	return p
}

// download fetches an archive, computes its hashes and stores them.
func (h *hashing) download(ctx context.Context, pkg *Package, policy verify.Policy) (*verify.Report, int64, error) {
	f, err := fsx.Temp(h.o.TempDir)
	if err != nil {
		return nil, 0, err
	}
	defer f.Discard()
	got, err := Receive(ctx, h.src, pkg, f, ReceiveOptions{Policy: policy, Progress: h.o.Progress})
	if err != nil {
		return nil, 0, err
	}
	release, err := acquire(ctx, h.o.Limiter.hashing)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	report, err := got.Judge(ctx, policy, f, true)
	if err != nil {
		return nil, 0, err
	}
	if h.o.Store != nil {
		others := slices.DeleteFunc(slices.Clone(report.Local), func(l checksum.Hash) bool { return l == got.ZH() })
		h.storeFailed(ctx, pkg, got.Size, h.o.Store.StoreHashes(ctx, got.ZH(), others))
	}
	return report, got.Size, nil
}

// directory hashes an unpacked package.
func (h *hashing) directory(ctx context.Context, pkg *Package, policy verify.Policy) (*verify.Report, error) {
	release, err := acquire(ctx, h.o.Limiter.hashing)
	if err != nil {
		return nil, err
	}
	defer release()
	root, err := fsx.OpenRoot(pkg.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	h1, err := checksum.H1Dir(ctx, fsx.Tree(ctx, root))
	if err != nil {
		return nil, err
	}
	return policy.JudgeDirectory(pkg.Evidence(), h1)
}

// withoutArchive judges a package by the stored or the stated hashes. The error wraps
// ErrNotStated if the archive is needed.
func (h *hashing) withoutArchive(ctx context.Context, pkg *Package, policy verify.Policy) (*verify.Report, error) {
	// A source that states a zh could also deliver the archive whose hashes are stored.
	zh := checksum.WithScheme(pkg.Evidence().Hashes, checksum.SchemeZH)
	if h.o.Store != nil && len(zh) == 1 {
		kept, err := h.o.Store.Hashes(ctx, zh[0])
		h.storeFailed(ctx, pkg, 0, err)
		kept = slices.DeleteFunc(slices.Clone(kept), func(h checksum.Hash) bool { return !hashlist.Known(h) })
		if err == nil && hashlist.Has(kept, checksum.SchemeH1) {
			ev, err := h.evidence(ctx, pkg, policy)
			if err != nil {
				return nil, err
			}
			report, err := policy.Judge(ctx, ev, checksum.Digests{Size: -1, Hashes: append(zh, kept...)})
			if err != nil { // the store or the statement may be wrong
				return nil, fmt.Errorf("%w: stored hashes: %w", verify.ErrNotStated, err)
			}
			return report, nil
		}
	}
	switch {
	case !h.o.Stated:
		return nil, fmt.Errorf("%w: HashOptions.Stated is not set", verify.ErrNotStated)
	case !hashlist.Has(pkg.Hashes[pkg.Platform], checksum.SchemeH1):
		return nil, fmt.Errorf("%w: the source states no h1", verify.ErrNotStated)
	}
	ev, err := h.evidence(ctx, pkg, policy)
	if err != nil {
		return nil, err
	}
	sums, err := policy.CheckSums(ev)
	if err != nil {
		return nil, err
	}
	report, err := sums.JudgeStated(ctx, ev)
	if err == nil && !hashlist.Overlap(report.Stated, pkg.Hashes[pkg.Platform]) {
		return nil, fmt.Errorf("%w: a lock file must not record the h1 of this source under this policy", verify.ErrNotStated)
	}
	return report, err
}

// evidence returns the evidence that the policy needs.
func (h *hashing) evidence(ctx context.Context, pkg *Package, policy verify.Policy) (verify.Evidence, error) {
	if !policy.NeedsEvidence() {
		return pkg.Evidence(), nil
	}
	if pkg.URL != "" || h.sibling == nil { // not from infer
		return h.src.Evidence(ctx, pkg)
	}
	found, err := h.src.Evidence(ctx, h.sibling) // it may depend on the platform
	ev := pkg.Evidence()
	ev.Sums, ev.Signature, ev.Keys = found.Sums, found.Signature, found.Keys
	return ev, err
}

// infer returns what p states about the package for another platform, without its URL.
func (p *Package) infer(platform addrs.Platform) (*Package, bool) {
	if p == nil || p.Platform == platform || !slices.ContainsFunc(p.Hashes[platform], hashlist.Known) {
		return nil, false
	}
	other := *p
	other.Platform, other.URL, other.Size, other.SHA256 = platform, "", 0, checksum.Hash{}
	other.Attestations, other.AttestationError = nil, nil
	if p.Filename == "" {
		return &other, true
	}
	stem, ok := strings.CutSuffix(p.Filename, "_"+p.Platform.String()+archiveSuffix)
	other.Filename = stem + "_" + platform.String() + archiveSuffix
	return &other, ok
}

// storeFailed reports the error of the store, unless it is nil or the call has ended. Size is the
// number of fetched bytes.
func (h *hashing) storeFailed(ctx context.Context, pkg *Package, size int64, err error) {
	if err != nil && ctx.Err() == nil {
		h.event(progress.Event{Kind: progress.StoreFailed, Platform: pkg.Platform, Bytes: size, Total: size, Err: err})
	}
}

func (h *hashing) event(e progress.Event) {
	e.Provider, e.Version = h.version.Provider, h.version.Version
	h.o.Progress(e)
}

// Limiter bounds what the calls of [Hashes] that share it do together: archives in progress, packages that are requested
// or wait (32), and, in its life, SHA256SUMS documents in reports (16 MiB, then [failure.ErrTooLarge]). Use one for each
// job, such as a lock file. It is safe for concurrent use and must not be copied.
type Limiter struct {
	Parallel int // maximum number of archives in progress, each in a temporary file; if 0 or less, 8

	once      sync.Once
	asking    *semaphore.Weighted // of platforms whose package is being found or waits for archives
	archives  *semaphore.Weighted
	hashing   *semaphore.Weighted // of one archive for each core
	documents *semaphore.Weighted // bytes, which are never released
}

const (
	defaultParallel = 8
	maxAsking       = 32 // packages, of up to 1 MiB in clients of this module
)

// Acquire waits until one more archive may be in progress, or ctx ends. The caller must call release when done; a second
// call has no effect.
func (l *Limiter) Acquire(ctx context.Context) (release func(), err error) {
	l.setup()
	return acquire(ctx, l.archives)
}

func (l *Limiter) setup() {
	l.once.Do(func() {
		n := l.Parallel
		if n <= 0 {
			n = defaultParallel
		}
		l.archives, l.hashing = semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))
		l.asking, l.documents = semaphore.NewWeighted(maxAsking), semaphore.NewWeighted(evidence.MaxSums)
	})
}

func acquire(ctx context.Context, places *semaphore.Weighted) (release func(), err error) {
	if err := places.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { places.Release(1) }), nil
}
