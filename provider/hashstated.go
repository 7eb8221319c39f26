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

// findLead looks for a package with which its source answers for other platforms too. If
// none is known, the one for platform is asked for, before all others: what it states may
// save the requests for them.
func (h *hashing) findLead(ctx context.Context, platform addrs.Platform) {
	for _, pkg := range h.Packages {
		if h.lead == nil || len(pkg.Hashes) > len(h.lead.Hashes) {
			h.lead = pkg
		}
	}
	if h.lead == nil {
		pkg, err := h.find(ctx, platform)
		h.found[platform] = answered{pkg, err}
		if err == nil {
			h.lead = pkg
		}
	}
}

// inferred judges the package for a platform by what h.lead says of it. The error wraps
// ErrNotStated if that does not suffice, so that the package itself must be asked for.
func (h *hashing) inferred(ctx context.Context, platform addrs.Platform) (*verify.Report, error) {
	pkg, ok := h.lead.infer(platform)
	if !ok {
		return nil, verify.ErrNotStated
	}
	report, err := h.withoutArchive(ctx, pkg)
	if errors.Is(err, verify.ErrNotListed) || errors.Is(err, verify.ErrFilename) {
		// The archive has another name than could be inferred.
		return nil, fmt.Errorf("%w: %w", verify.ErrNotStated, err)
	}
	return report, err
}

// infer returns the package for another platform as far as p tells of it, which is all
// but where its archive is.
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

// withoutArchive judges a package by the store or by what the source states. The error
// wraps ErrNotStated if only the archive can tell.
func (h *hashing) withoutArchive(ctx context.Context, pkg *Package) (*verify.Report, error) {
	if local, ok := h.stored(ctx, pkg); ok {
		return h.judgeStored(ctx, pkg, local)
	}
	return h.stated(ctx, pkg)
}

// stated judges what the source states.
func (h *hashing) stated(ctx context.Context, pkg *Package) (*verify.Report, error) {
	switch {
	case !h.Policy.RecordStated:
		return nil, fmt.Errorf("%w: the policy records nothing that is only stated, see RecordStated", verify.ErrNotStated)
	case !checksum.HasScheme(pkg.Hashes[pkg.Platform], checksum.SchemeH1):
		return nil, fmt.Errorf("%w: its source states no h1 of it", verify.ErrNotStated)
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
	if err == nil && !checksum.HasScheme(report.Claimed, checksum.SchemeH1) {
		return nil, fmt.Errorf("%w: its source states no zh beside the h1", verify.ErrNotStated)
	}
	return report, err
}

// evidence returns what the policy needs to know about a package.
func (h *hashing) evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	if !h.Policy.NeedsEvidence() {
		return pkg.Evidence(), nil
	}
	return h.src.Evidence(ctx, pkg)
}

// stored returns what would be computed of the archive whose zh the source states, if the
// store has that.
//
// That the bytes are not seen is no loss: the zh stands for them, and a source that can
// state a zh of the store can as well deliver that archive.
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

// judgeStored judges an archive with the hashes of the store. If these are refused, the
// store may be wrong, or what the source states, but not the archive.
func (h *hashing) judgeStored(ctx context.Context, pkg *Package, local []checksum.Hash) (*verify.Report, error) {
	ev, err := h.evidence(ctx, pkg)
	if err != nil {
		return nil, err
	}
	report, err := h.Policy.Judge(ev, -1, local)
	if err != nil {
		return nil, fmt.Errorf("%w: of the stored hashes: %w", verify.ErrNotStated, err)
	}
	return report, nil
}

// store keeps what was computed.
func (h *hashing) store(ctx context.Context, pkg *Package, zh checksum.Hash, report *verify.Report) {
	if h.Store == nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(report.Local), func(l checksum.Hash) bool { return l == zh })
	if err := h.Store.StoreHashes(ctx, zh, others); err != nil {
		h.storeFailed(ctx, pkg, err)
	}
}

// storeFailed tells of a store that only costs time by that.
func (h *hashing) storeFailed(ctx context.Context, pkg *Package, err error) {
	if ctx.Err() == nil {
		h.tell(Event{Kind: EventStoreFailed, Platform: pkg.Platform, Err: err})
	}
}
