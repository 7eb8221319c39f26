package provider

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// maxAsking bounds the platforms whose package is being found or waits for the limiter.
const maxAsking = 32

// hashing is a call of Hashes.
type hashing struct {
	HashOptions
	src      Source // with checked answers
	provider addrs.Provider
	version  addrs.Version
	asking   *semaphore.Weighted

	// Written before the concurrent part.
	found   map[addrs.Platform]answered
	sibling *Package // states hashes of other platforms; may be nil

	stop context.CancelCauseFunc // when the documents are too large

	mu   sync.Mutex
	sums []*verify.Sums    // of all reports, without duplicates
	keys map[string]string // the text of all keys
}

type answered struct {
	pkg *Package
	err error
}

// hashAll returns the reports of all platforms.
func (h *hashing) hashAll(ctx context.Context, on []addrs.Platform) (map[addrs.Platform]*verify.Report, error) {
	if h.Stated || h.NoDownload {
		h.findSibling(ctx, on[0])
	}
	outer := ctx
	ctx, h.stop = context.WithCancelCause(ctx)
	defer h.stop(nil)
	reports, errs := make([]*verify.Report, len(on)), make([]error, len(on))
	var wg sync.WaitGroup
	for i, platform := range on {
		wg.Go(func() { reports[i], errs[i] = h.hashPlatform(ctx, platform) })
	}
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil && outer.Err() == nil {
		return nil, h.failed(cause) // the documents are too large
	}
	result := make(map[addrs.Platform]*verify.Report, len(on))
	ended, refuted := false, false
	for i, platform := range on {
		refuted = refuted || errors.Is(errs[i], checksum.ErrMismatch)
		switch {
		case errs[i] == nil:
			result[platform] = reports[i]
		case ctx.Err() != nil && errors.Is(errs[i], ctx.Err()):
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
	return result, errors.Join(errs...)
}

// hashPlatform returns the report of one platform, or an *Error.
func (h *hashing) hashPlatform(ctx context.Context, platform addrs.Platform) (*verify.Report, error) {
	about := &Package{Provider: h.provider, Version: h.version, Platform: platform}
	report, size, err := h.report(ctx, platform)
	if err == nil {
		err = h.share(report)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // err may be a consequence
	}
	if err != nil {
		return nil, failed("hash", about, err)
	}
	h.event(Event{Kind: EventHashed, Platform: platform, Bytes: size, Total: size})
	return report, nil
}

// share makes reports with equal SHA256SUMS documents share one.
func (h *hashing) share(report *verify.Report) error {
	if report.Sums == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.sums, report.Sums.Equal); i >= 0 {
		report.Sums = h.sums[i]
		return nil
	}
	size := 0
	for name := range report.Sums.All() {
		size += sha256.Size*2 + len("  ") + len(name) + len("\n")
	}
	if err := h.take(size); err != nil {
		return err
	}
	h.sums = append(h.sums, report.Sums)
	return nil
}

// take takes n bytes for documents. If they are not left, it stops the work on all platforms.
func (h *hashing) take(n int) error {
	err := h.Limiter.take(n)
	if err != nil {
		h.stop(err)
	}
	return err
}

// keep returns pkg with keys that share their text with equal keys of other packages.
func (h *hashing) keep(pkg *Package) (*Package, error) {
	own := *pkg
	own.Keys = slices.Clone(pkg.Keys)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, key := range own.Keys {
		text, ok := h.keys[key.Armor]
		if !ok {
			if err := h.take(len(key.Armor)); err != nil {
				return nil, err
			}
			text = key.Armor
			h.keys[text] = text
		}
		own.Keys[i].Armor = text
	}
	return &own, nil
}

// report returns the report of one platform, and the number of fetched bytes.
func (h *hashing) report(ctx context.Context, platform addrs.Platform) (*verify.Report, int64, error) {
	done, err := acquire(ctx, h.asking)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	report, err := h.judgeInferred(ctx, platform)
	if !errors.Is(err, verify.ErrNotStated) {
		return report, 0, err
	}
	pkg, err := h.find(ctx, platform)
	if err != nil {
		return nil, 0, err
	}
	if pkg, err = h.keep(pkg); err != nil {
		return nil, 0, err
	}
	if pkg.Dir != "" {
		report, err = h.directory(ctx, pkg)
	} else {
		report, err = h.withoutArchive(ctx, pkg)
	}
	switch {
	case !errors.Is(err, verify.ErrNotStated):
		return report, 0, err
	case h.NoDownload:
		return nil, 0, fmt.Errorf("%w, and NoDownload is set", err)
	}
	// Packages can be large, so the places in h.asking are kept until here.
	leave, err := h.Limiter.Acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	done()
	return h.download(ctx, pkg)
}

// find returns the package for a platform.
func (h *hashing) find(ctx context.Context, platform addrs.Platform) (*Package, error) {
	if known, ok := h.found[platform]; ok {
		return known.pkg, known.err
	}
	return h.src.ProviderPackage(ctx, h.provider, h.version, platform)
}

// download fetches an archive and computes its hashes.
func (h *hashing) download(ctx context.Context, pkg *Package) (*verify.Report, int64, error) {
	f, err := fsx.Temp(h.TempDir)
	if err != nil {
		return nil, 0, err
	}
	defer f.Discard()
	got, err := Receive(ctx, h.src, pkg, f.File, Options{Policy: h.Policy, Progress: h.Progress})
	if err != nil {
		return nil, 0, err
	}
	report, err := got.judge(ctx, h.Policy, true, func(ctx context.Context) (func(), error) { return acquire(ctx, h.Limiter.hashing) })
	if err != nil {
		return nil, 0, err
	}
	h.store(ctx, pkg, got.ZH, report)
	return report, got.Size, nil
}

// directory hashes an unpacked package.
func (h *hashing) directory(ctx context.Context, pkg *Package) (*verify.Report, error) {
	leave, err := acquire(ctx, h.Limiter.hashing)
	if err != nil {
		return nil, err
	}
	defer leave()
	root, err := os.OpenRoot(pkg.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	h1, err := checksum.H1Dir(ctx, fsx.Tree(ctx, root))
	if err != nil {
		return nil, err
	}
	return h.Policy.Judge(pkg.Evidence(), -1, []checksum.Hash{h1})
}

// event reports an event.
func (h *hashing) event(e Event) {
	e.Provider, e.Version = h.provider, h.version
	h.Progress(e)
}

// failed returns err as the *Error of the call.
func (h *hashing) failed(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Op: "hash", Subject: h.provider.String() + " " + h.version.String(), Err: err}
}
