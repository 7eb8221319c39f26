package verify

import (
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/verify/checksum"
)

// CheckedSums is a SHA256SUMS document that [Policy.CheckSums] has checked. In the zero
// value there is no document.
type CheckedSums struct {
	policy Policy
	doc    *Sums
	by     *Signature
}

// Sums returns the document, nil if there is none.
func (c CheckedSums) Sums() *Sums { return c.doc }

// SignedBy returns the signature of the document, nil if there is none.
func (c CheckedSums) SignedBy() *Signature { return c.by }

// CheckSums verifies the signature of the SHA256SUMS document in ev and parses the
// document. Do it once for all platforms of a version: [CheckedSums.JudgeStated] finds the line
// of each archive in the result. CheckSums itself does not look for any line, so nothing
// shows that the document is about the right version.
//
// The result has no document if the policy needs none, see [Policy.NeedsEvidence]. It has
// no document or no signature if the source has none and p accepts that.
func (p Policy) CheckSums(ev Evidence) (CheckedSums, error) {
	if !p.NeedsEvidence() {
		return CheckedSums{policy: p}, nil
	}
	switch {
	case ev.Sums != nil && len(ev.Sums) == 0:
		return CheckedSums{}, fmt.Errorf("SHA256SUMS: %w", ErrEmpty)
	case ev.Signature != nil && len(ev.Signature) == 0:
		return CheckedSums{}, fmt.Errorf("signature of SHA256SUMS: %w", ErrEmpty)
	}
	by, err := p.signature(ev)
	if err != nil {
		return CheckedSums{}, err
	}
	if ev.Sums == nil {
		return CheckedSums{policy: p}, nil
	}
	doc, err := ParseSums(ev.Sums)
	if err != nil {
		return CheckedSums{}, err
	}
	if len(p.SameRelease) > 0 && !checksum.Overlap(p.SameRelease, doc.listed()) {
		return CheckedSums{}, ErrOtherRelease
	}
	return CheckedSums{p, doc, by}, nil
}

// signature verifies the signature of the SHA256SUMS document. Without an error it
// may return nil: there is none, and p does not insist.
func (p Policy) signature(ev Evidence) (*Signature, error) {
	pins, err := p.pins()
	if err != nil {
		return nil, err
	}
	if missing := p.missing(ev); missing != "" {
		return nil, p.unsigned(ev, missing)
	}
	check := signatureCheck{at: p.now(), pins: pins, allowExpired: p.AllowExpired, allowWeak: p.AllowWeak}
	by, err := check.run(ev.Sums, ev.Signature, p.keys(ev))
	if by != nil {
		by.Pinned = p.pinned()
	}
	return by, err
}

// keys returns the keys that may sign.
func (p Policy) keys(ev Evidence) []Key {
	if p.Keys != nil {
		return p.Keys
	}
	return ev.Keys
}

// missing says what there has to be for a signature and is not there, "" for nothing.
func (p Policy) missing(ev Evidence) string {
	switch {
	case ev.Sums == nil:
		return "the source has no SHA256SUMS document"
	case ev.Signature == nil:
		return "the source has no signature of SHA256SUMS"
	case p.Keys != nil && len(p.Keys) == 0:
		return "Policy.Keys is empty"
	case len(p.keys(ev)) == 0:
		return "the source lists no keys that may sign"
	}
	return ""
}

// unsigned returns nil if p accepts that there is no signature.
func (p Policy) unsigned(ev Evidence, missing string) error {
	switch {
	case ev.MustBeSigned:
		return fmt.Errorf("%w: %s, and the source demands a signature", ErrUnsigned, missing)
	case p.RequireSignature, p.pinned():
		return fmt.Errorf("%w: %s, and the policy demands one", ErrUnsigned, missing)
	case p.allowsUnsigned(ev):
		return nil
	case ev.Sums == nil && !slices.ContainsFunc(ev.Hashes, checksum.Hash.Known):
		return p.unchecked(ev) // not nil, as AllowUnchecked is not set here
	}
	return fmt.Errorf("%w: %s; Policy.AllowUnsigned accepts the hashes that a source or mirror merely states", ErrUnsigned, missing)
}

// allowsUnsigned reports whether p accepts a package without a signature.
func (p Policy) allowsUnsigned(ev Evidence) bool {
	return (p.AllowUnsigned || p.AllowUnchecked) && !p.RequireSignature && !p.pinned() && !ev.MustBeSigned
}

// line finds the line of the archive.
func (p Policy) line(ev Evidence, doc *Sums) (checksum.Hash, error) {
	if err := ev.checkFilename(p.AllowAnyName); err != nil {
		return checksum.Hash{}, err
	}
	h, ok := doc.Lookup(ev.Filename)
	if !ok {
		return checksum.Hash{}, fmt.Errorf("%w: %q", ErrNotListed, ev.Filename)
	}
	return h, nil
}

// compareSums compares the line of the archive with the zh of the archive. It returns what
// the document lists and no signature covers.
func (p Policy) compareSums(r *Report, ev Evidence, sums CheckedSums) (claimed []checksum.Hash, err error) {
	if sums.doc == nil {
		return nil, nil
	}
	want, err := p.line(ev, sums.doc)
	if err != nil {
		return nil, err
	}
	got := checksum.WithScheme(r.Local, checksum.SchemeZH)
	switch {
	case len(got) == 0:
		return nil, fmt.Errorf("%w: SHA256SUMS has one of the archive, and none of the archive was computed", ErrUnchecked)
	case !slices.Contains(got, want):
		return nil, sums.mismatch(ev, want, got)
	}
	return r.take(sums), nil
}

func (c CheckedSums) mismatch(ev Evidence, want checksum.Hash, got []checksum.Hash) error {
	from := "SHA256SUMS"
	if c.by != nil {
		from = "signed SHA256SUMS"
	}
	return &checksum.MismatchError{Filename: ev.Filename, Source: from, Want: []checksum.Hash{want}, Got: got}
}

// take puts a document that fits into the report. It returns what no signature covers.
func (r *Report) take(sums CheckedSums) (claimed []checksum.Hash) {
	r.Sums = sums.doc
	if sums.by == nil {
		r.Trust = max(r.Trust, Checked)
		return sums.doc.listed()
	}
	r.Trust, r.SignedBy = Signed, sums.by
	return nil
}
