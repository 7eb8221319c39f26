package provider

import (
	"context"
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

// inferred returns the package for another platform as far as p tells of it, which is all
// but where its archive is. It returns nil if p does not tell.
func (p *Package) inferred(platform addrs.Platform) *Package {
	if p == nil || p.Platform == platform || !has(p.Hashes[platform], checksum.SchemeH1) {
		return nil
	}
	other := *p
	other.Platform, other.URL, other.Size, other.SHA256 = platform, "", 0, checksum.Hash{}
	if p.Filename == "" {
		return &other
	}
	stem, ok := strings.CutSuffix(p.Filename, "_"+p.Platform.String()+".zip")
	if !ok {
		return nil
	}
	other.Filename = stem + "_" + platform.String() + ".zip"
	return &other
}

// stated returns a report of what the source states, if the policy takes that; nil if it
// wants more. What contradicts the checksums is an error.
func (h *hashing) stated(ctx context.Context, pkg *Package) (*verify.Report, error) {
	claims := pkg.Evidence().Hashes
	if !h.Policy.RecordStated || !has(claims, checksum.SchemeH1) {
		return nil, nil
	}
	report := &verify.Report{Trust: verify.Checked, RecordStated: true}
	if h.Policy.Accept != nil {
		if !slices.ContainsFunc(claims, h.accepts) {
			return nil, nil // the archive may still have one, that is not stated
		}
		report.Trust = verify.Accepted
	}
	zh := ofScheme(claims, checksum.SchemeZH)
	if len(zh) > 1 {
		return nil, nil // see which one is true
	}
	if h.Policy.NeedsEvidence() {
		listed, err := h.judgeStated(ctx, pkg, report, zh)
		if err != nil {
			return nil, err
		}
		if listed != nil && len(zh) == 0 {
			return nil, nil // nothing tells that the h1 is of the archive that is listed
		}
		if report.SignedBy == nil {
			claims = append(claims, listed...)
		}
	}
	claims = slices.DeleteFunc(claims, func(c checksum.Hash) bool { return slices.Contains(report.Signed, c) })
	report.Claimed = hashSet(claims)
	return report, nil
}

// accepts reports whether the hash, of a scheme that means something, is an accepted one.
func (h *hashing) accepts(claim checksum.Hash) bool {
	known := claim.Scheme() == checksum.SchemeZH || claim.Scheme() == checksum.SchemeH1
	return known && slices.Contains(h.Policy.Accept, claim)
}

// judgeStated compares what is stated with the checksums, and puts into the report what
// is signed. It returns all hashes that the checksums list, nil if there are none.
func (h *hashing) judgeStated(ctx context.Context, pkg *Package, report *verify.Report, zh []checksum.Hash) ([]checksum.Hash, error) {
	ev, err := h.src.Evidence(ctx, pkg)
	if err != nil {
		return nil, err
	}
	sums, by, err := h.Policy.CheckSums(ev)
	if err != nil || sums == nil {
		return nil, err
	}
	from := "SHA256SUMS"
	var listed []checksum.Hash
	for _, hash := range sums.All() {
		listed = append(listed, hash)
	}
	listed = hashSet(listed)
	if by != nil {
		from = "signed SHA256SUMS"
		report.Trust, report.SignedBy, report.Signed = verify.Signed, by, listed
	}
	line, _ := sums.Lookup(ev.Filename) // CheckSums has found it too
	if len(zh) > 0 && zh[0] != line {
		mismatch := &checksum.MismatchError{Filename: ev.Filename, Source: from, Want: []checksum.Hash{line}, Got: zh}
		return nil, fmt.Errorf("as its source states it: %w", mismatch)
	}
	return listed, nil
}

// has reports whether list has a hash of the scheme.
func has(list []checksum.Hash, scheme string) bool { return len(ofScheme(list, scheme)) > 0 }

// ofScheme returns the hashes of the scheme.
func ofScheme(list []checksum.Hash, scheme string) (of []checksum.Hash) {
	for _, h := range list {
		if h.Scheme() == scheme {
			of = append(of, h)
		}
	}
	return of
}

// hashSet sorts hashes and removes those that occur twice.
func hashSet(list []checksum.Hash) []checksum.Hash {
	slices.SortFunc(list, checksum.Hash.Compare)
	return slices.Compact(list)
}
