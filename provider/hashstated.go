package provider

import (
	"context"
	"errors"
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

// inferred returns the package for another platform as far as p tells of it, which is all
// but where its archive is. It returns nil if p does not tell.
func (p *Package) inferred(platform addrs.Platform) *Package {
	if p == nil || p.Platform == platform || !checksum.HasScheme(p.Hashes[platform], checksum.SchemeH1) {
		return nil
	}
	other := *p
	other.Platform, other.URL, other.Size, other.SHA256 = platform, "", 0, checksum.Hash{}
	if p.Filename == "" {
		return &other
	}
	stem, ok := strings.CutSuffix(p.Filename, "_"+p.Platform.String()+archiveSuffix)
	if !ok {
		return nil
	}
	other.Filename = stem + "_" + platform.String() + archiveSuffix
	return &other
}

// stated returns a report of what the source states, if the policy takes that; nil if it
// wants more. What contradicts the checksums is an error.
func (h *hashing) stated(ctx context.Context, pkg *Package) (*verify.Report, error) {
	ev := pkg.Evidence()
	if !h.Policy.RecordStated || !checksum.HasScheme(ev.Hashes, checksum.SchemeH1) {
		return nil, nil
	}
	if h.Policy.NeedsEvidence() {
		var err error
		if ev, err = h.src.Evidence(ctx, pkg); err != nil {
			return nil, err
		}
	}
	sums, err := h.Policy.CheckSums(ev)
	if err != nil {
		return nil, err
	}
	report, err := h.Policy.JudgeStated(ev, sums)
	if errors.Is(err, verify.ErrNotStated) || err == nil && !checksum.HasScheme(report.Claimed, checksum.SchemeH1) {
		return nil, nil
	}
	return report, err
}
