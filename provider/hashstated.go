package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// findSibling sets h.sibling to the package that states hashes for the most platforms. If no
// package is known, it finds the package for platform first, which may make further requests
// unnecessary.
func (h *hashing) findSibling(ctx context.Context, platform addrs.Platform) {
	for _, pkg := range h.Packages {
		if h.sibling == nil || len(pkg.Hashes) > len(h.sibling.Hashes) {
			h.sibling = pkg
		}
	}
	if h.sibling == nil {
		pkg, err := h.find(ctx, platform)
		h.found[platform] = answered{pkg, err}
		if err == nil {
			h.sibling = pkg
		}
	}
}

// judgeInferred judges the package for a platform by the statements of h.sibling. The error wraps
// ErrNotStated if they are not sufficient.
func (h *hashing) judgeInferred(ctx context.Context, platform addrs.Platform) (*verify.Report, error) {
	pkg, ok := h.sibling.infer(platform)
	if !ok {
		return nil, verify.ErrNotStated
	}
	report, err := h.withoutArchive(ctx, pkg)
	if err != nil && !errors.Is(err, checksum.ErrMismatch) {
		return nil, fmt.Errorf("%w: %w", verify.ErrNotStated, err)
	}
	return report, err
}

// infer returns what p states about the package for another platform, without its URL.
func (p *Package) infer(platform addrs.Platform) (*Package, bool) {
	if p == nil || p.Platform == platform || !slices.ContainsFunc(p.Hashes[platform], checksum.Hash.Known) {
		return nil, false
	}
	other := *p
	other.Platform, other.URL, other.Size, other.SHA256 = platform, "", 0, checksum.Hash{}
	if p.Filename == "" {
		return &other, true
	}
	stem, ok := strings.CutSuffix(p.Filename, "_"+p.Platform.String()+archiveSuffix)
	other.Filename = stem + "_" + platform.String() + archiveSuffix
	return &other, ok
}

// withoutArchive judges a package by the stored or the stated hashes. The error wraps
// ErrNotStated if the archive is needed.
func (h *hashing) withoutArchive(ctx context.Context, pkg *Package) (*verify.Report, error) {
	if local, ok := h.stored(ctx, pkg); ok {
		return h.judgeStored(ctx, pkg, local)
	}
	return h.stated(ctx, pkg)
}

// stated judges the hashes that the source states.
func (h *hashing) stated(ctx context.Context, pkg *Package) (*verify.Report, error) {
	switch {
	case !h.Stated:
		return nil, fmt.Errorf("%w: an h1 must be computed (HashOptions.Stated is not set)", verify.ErrNotStated)
	case !checksum.HasScheme(pkg.Hashes[pkg.Platform], checksum.SchemeH1):
		return nil, fmt.Errorf("%w: the source states no h1", verify.ErrNotStated)
	}
	ev, err := h.evidence(ctx, pkg)
	if err != nil {
		return nil, err
	}
	sums, err := h.Policy.CheckSums(ev)
	if err != nil {
		return nil, err
	}
	report, err := sums.JudgeStated(ev)
	if err == nil && !checksum.Overlap(report.Stated, pkg.Hashes[pkg.Platform]) {
		return nil, fmt.Errorf("%w: a lock file must not record the h1 of this source under this policy", verify.ErrNotStated)
	}
	return report, err
}

// evidence returns the evidence that the policy needs.
func (h *hashing) evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	if !h.Policy.NeedsEvidence() {
		return pkg.Evidence(), nil
	}
	if pkg.URL != "" || h.sibling == nil {
		return h.src.Evidence(ctx, pkg)
	}
	found, err := h.src.Evidence(ctx, h.sibling) // it may depend on the platform
	ev := pkg.Evidence()
	ev.Sums, ev.Signature, ev.Keys = found.Sums, found.Signature, found.Keys
	return ev, err
}

// stored returns the stored hashes of the archive whose zh the source states. The archive is not
// needed then: a source that states this zh could also deliver this archive.
func (h *hashing) stored(ctx context.Context, pkg *Package) (local []checksum.Hash, ok bool) {
	zh := checksum.WithScheme(pkg.Evidence().Hashes, checksum.SchemeZH)
	if h.Store == nil || len(zh) != 1 {
		return nil, false
	}
	kept, err := h.Store.Hashes(ctx, zh[0])
	if err != nil {
		h.storeFailed(ctx, pkg, err)
	}
	h1 := checksum.WithScheme(kept, checksum.SchemeH1)
	return append(zh, h1...), err == nil && len(h1) > 0
}

// judgeStored judges an archive by stored hashes. If they are refused, the store or the
// statement may be wrong, so the archive is needed.
func (h *hashing) judgeStored(ctx context.Context, pkg *Package, local []checksum.Hash) (*verify.Report, error) {
	ev, err := h.evidence(ctx, pkg)
	if err != nil {
		return nil, err
	}
	report, err := h.Policy.Judge(ev, -1, local)
	if err != nil {
		return nil, fmt.Errorf("%w: stored hashes: %w", verify.ErrNotStated, err)
	}
	return report, nil
}

// store stores the computed hashes.
func (h *hashing) store(ctx context.Context, pkg *Package, zh checksum.Hash, report *verify.Report) {
	if h.Store == nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(report.Local), func(l checksum.Hash) bool { return l == zh })
	if err := h.Store.StoreHashes(ctx, zh, others); err != nil {
		h.storeFailed(ctx, pkg, err)
	}
}

// storeFailed reports the failure of the store.
func (h *hashing) storeFailed(ctx context.Context, pkg *Package, err error) {
	if ctx.Err() == nil {
		h.event(Event{Kind: EventStoreFailed, Platform: pkg.Platform, Err: err})
	}
}
