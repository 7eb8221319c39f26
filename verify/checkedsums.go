package verify

import (
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/verify/checksum"
)

// CheckedSums is a SHA256SUMS document with the policy that checked it. The zero value has no
// document and the zero policy.
type CheckedSums struct {
	policy Policy
	doc    *Sums
	by     *Signature
}

// Sums returns the document, or nil.
func (c CheckedSums) Sums() *Sums { return c.doc }

// SignedBy returns the verified signature, or nil.
func (c CheckedSums) SignedBy() *Signature { return c.by }

// CheckSums parses the SHA256SUMS document in ev and verifies its signature, once for all
// platforms of a version. [CheckedSums.JudgeStated] checks that it is the right version.
//
// The result has no document or signature if p needs none ([Policy.NeedsEvidence]), or if the
// source has none and p accepts that.
func (p Policy) CheckSums(ev Evidence) (CheckedSums, error) {
	if err := p.check(); err != nil {
		return CheckedSums{}, err
	}
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
	if p.SameRelease != nil && !checksum.Overlap(p.SameRelease, doc.listed()) {
		return CheckedSums{}, ErrOtherRelease
	}
	return CheckedSums{p, doc, by}, nil
}

// signature verifies the signature of the SHA256SUMS document. It returns nil without an error
// if there is no signature and p does not require one.
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

// missing returns what is missing for a signature, or "".
func (p Policy) missing(ev Evidence) string {
	switch {
	case ev.Sums == nil:
		return "the source has no SHA256SUMS document"
	case ev.Signature == nil:
		return "the source has no signature of SHA256SUMS"
	case p.Keys != nil && len(p.Keys) == 0:
		return "Policy.Keys is empty"
	case len(p.keys(ev)) == 0:
		return "the source lists no keys"
	}
	return ""
}

// unsigned returns nil if p accepts a package without a signature.
func (p Policy) unsigned(ev Evidence, missing string) error {
	switch {
	case ev.MustBeSigned:
		return fmt.Errorf("%w: %s, and the source requires one", ErrUnsigned, missing)
	case p.RequireSignature, p.pinned():
		return fmt.Errorf("%w: %s, and the policy requires one", ErrUnsigned, missing)
	case p.allowsUnsigned(ev):
		return nil
	case ev.Sums == nil && !slices.ContainsFunc(ev.Hashes, checksum.Hash.Known):
		return p.unchecked(ev) // not nil, because AllowUnchecked is not set here
	}
	return fmt.Errorf("%w: %s; set Policy.AllowUnsigned to accept the hashes that the source states", ErrUnsigned, missing)
}

// allowsUnsigned reports whether p accepts hashes that no signature covers.
func (p Policy) allowsUnsigned(ev Evidence) bool {
	return (p.AllowUnsigned || p.AllowUnchecked) && !p.RequireSignature && !p.pinned() && !ev.MustBeSigned
}

// line returns the zh of the line for ev.Filename.
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

// compareSums compares the line of the archive with the zh of the archive. It returns the
// hashes that the document lists and no signature covers.
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
		return nil, fmt.Errorf("%w: SHA256SUMS has a zh of the package, but only its h1 is known", ErrUnchecked)
	case !slices.Contains(got, want):
		return nil, sums.mismatch(ev, want, got)
	}
	return r.addSums(sums), nil
}

func (c CheckedSums) mismatch(ev Evidence, want checksum.Hash, got []checksum.Hash) error {
	from := "SHA256SUMS"
	if c.by != nil {
		from = "signed SHA256SUMS"
	}
	return &checksum.MismatchError{Filename: ev.Filename, Source: from, Want: []checksum.Hash{want}, Got: got}
}

// addSums adds a document that matches to the report. It returns the hashes that no signature
// covers.
func (r *Report) addSums(sums CheckedSums) (claimed []checksum.Hash) {
	r.Sums = sums.doc
	if sums.by == nil {
		r.Trust = max(r.Trust, Checked)
		return sums.doc.listed()
	}
	r.Trust, r.SignedBy = Signed, sums.by
	return nil
}
