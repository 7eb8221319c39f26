package verify

import (
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Where a MismatchError's hashes come from.
const (
	fromSigned = "signed SHA256SUMS"
	fromSums   = "SHA256SUMS"
	fromSource = "hashes stated by the source"
	fromAccept = "accepted hashes"
)

// Judge decides whether p accepts a package, and returns how far it is to be trusted.
// It sees ev, the size of the package in bytes (negative: not known, as for a
// directory) and the hashes that the caller has computed of it. It reads nothing
// else but the clock.
//
// The chain that it closes is: signature of the SHA256SUMS document; its line for
// ev.Filename; the zh of the bytes; and the hashes that the source states. With
// [Policy.Accept] the chain is: accepted hash, hash of the bytes.
//
// Its errors are [*checksum.MismatchError], [*checksum.SizeError], [*SumsError] and those of the list
// of variables, of which [ErrNotAccepted] comes with a *MismatchError. After an
// error the package must not be used.
func (p Policy) Judge(ev Evidence, size int64, local []checksum.Hash) (*Report, error) {
	return p.judge(ev, size, local, func() checkedSums { return p.checkSums(ev) })
}

// judge is Judge with what checks the sums, which is asked at most once.
func (p Policy) judge(ev Evidence, size int64, local []checksum.Hash, sums func() checkedSums) (*Report, error) {
	if _, err := p.pins(); err != nil {
		return nil, err
	}
	if ev.Size > 0 && size >= 0 && ev.Size != size {
		return nil, &checksum.SizeError{Filename: ev.Filename, Want: ev.Size, Got: size}
	}
	r := &Report{Local: sorted(local), RecordStated: p.RecordStated}
	matched, err := compare(ev, local)
	if err != nil {
		return nil, err
	}
	if matched {
		r.Trust = Checked
	}
	claimed := unrefuted(ev.Hashes, local)
	if p.Accept != nil {
		if err := p.accept(ev, local); err != nil {
			return nil, err
		}
		r.Trust = Accepted
	}
	if p.NeedsEvidence() {
		listed, err := p.judgeSums(r, ev, sums())
		if err != nil {
			return nil, err
		}
		if r.SignedBy == nil {
			claimed = append(claimed, listed...)
		}
		if err := p.suffices(r, ev); err != nil {
			return nil, err
		}
	}
	r.Claimed = sorted(claimed, r.Local, r.Signed)
	return r, nil
}

// compare compares the hashes that the source states with those computed. Of each
// scheme that both have, one must match: an archive has two h1 hashes, and either
// may be stated.
func compare(ev Evidence, local []checksum.Hash) (matched bool, err error) {
	for _, scheme := range []string{checksum.SchemeZH, checksum.SchemeH1} {
		want, got := checksum.WithScheme(ev.Hashes, scheme), checksum.WithScheme(local, scheme)
		switch {
		case len(want) == 0 || len(got) == 0:
		case !checksum.Overlap(want, got):
			return false, &checksum.MismatchError{Filename: ev.Filename, Source: fromSource, Want: want, Got: got}
		default:
			matched = true
		}
	}
	return matched, nil
}

// unrefuted returns what the source states and the package may have: an archive has one
// zh, and no other h1 than those that were computed of it. Of a directory only one of the
// two h1 hashes is known.
func unrefuted(stated, local []checksum.Hash) []checksum.Hash {
	archive := checksum.HasScheme(local, checksum.SchemeZH)
	return slices.DeleteFunc(slices.Clone(stated), func(h checksum.Hash) bool {
		return archive && h.Known() && checksum.HasScheme(local, h.Scheme()) && !slices.Contains(local, h)
	})
}

func (p Policy) accept(ev Evidence, local []checksum.Hash) error {
	if checksum.Overlap(p.Accept, local) {
		return nil
	}
	mismatch := &checksum.MismatchError{Filename: ev.Filename, Source: fromAccept, Want: p.Accept, Got: local}
	return fmt.Errorf("%w: %w", ErrNotAccepted, mismatch)
}

// CheckSums is the half of [Policy.Judge] that needs no package: it verifies the
// signature of the SHA256SUMS document as Judge does, and parses the document. It is
// for lock files of platforms whose packages are not downloaded.
//
// Unless ev names neither a file nor what is wanted, the document must have a line for
// ev.Filename, and that must be what ev.Want says: signed sums of another version would
// otherwise bring its hashes into the lock file.
//
// The signature is nil if there is none and p accepts that; the document is nil if
// the source has none and p accepts that.
func (p Policy) CheckSums(ev Evidence) (*Sums, *Signature, error) {
	c := p.checkSums(ev)
	if c.err == nil && c.doc != nil && ev.Filename+ev.Want != "" {
		_, c.err = p.line(ev, c.doc)
	}
	if c.err != nil {
		return nil, nil, c.err
	}
	return c.doc, c.by, nil
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

// checkedSums is the outcome of CheckSums.
type checkedSums struct {
	doc *Sums
	by  *Signature
	err error
}

func (p Policy) checkSums(ev Evidence) checkedSums {
	by, err := p.signature(ev)
	if err != nil || len(ev.Sums) == 0 {
		return checkedSums{err: err}
	}
	doc, err := ParseSums(ev.Sums)
	if err != nil {
		return checkedSums{err: err}
	}
	return checkedSums{doc: doc, by: by}
}

// judgeSums compares the line of the archive with the archive. It returns all hashes
// of the document.
func (p Policy) judgeSums(r *Report, ev Evidence, sums checkedSums) ([]checksum.Hash, error) {
	if sums.err != nil || sums.doc == nil {
		return nil, sums.err
	}
	doc, by := sums.doc, sums.by
	want, err := p.line(ev, doc)
	if err != nil {
		return nil, err
	}
	got := checksum.WithScheme(r.Local, checksum.SchemeZH)
	switch {
	case len(got) == 0:
		return nil, fmt.Errorf("%w: SHA256SUMS has one of the archive, and none of the archive was computed", ErrUnchecked)
	case !slices.Contains(got, want):
		from := fromSums
		if by != nil {
			from = fromSigned
		}
		return nil, &checksum.MismatchError{Filename: ev.Filename, Source: from, Want: []checksum.Hash{want}, Got: got}
	}
	var listed []checksum.Hash
	for _, h := range doc.All() {
		listed = append(listed, h)
	}
	r.Trust = max(r.Trust, Checked)
	if by != nil {
		r.Trust, r.SignedBy, r.Signed = Signed, by, sorted(listed)
	}
	return listed, nil
}

// signature verifies the signature of the SHA256SUMS document. Without an error it
// may return nil: there is none, and p does not insist.
func (p Policy) signature(ev Evidence) (*Signature, error) {
	pins, err := p.pins()
	if err != nil {
		return nil, err
	}
	keys := ev.Keys
	if p.Keys != nil {
		keys = p.Keys
	}
	missing := ""
	switch {
	case len(ev.Sums) == 0:
		missing = "the source has no SHA256SUMS document"
	case len(ev.Signature) == 0:
		missing = "the source has no signature of SHA256SUMS"
	case p.Keys != nil && len(keys) == 0:
		missing = "Policy.Keys is empty"
	case len(keys) == 0:
		missing = "the source lists no keys that may sign"
	}
	if missing == "" {
		check := signatureCheck{at: p.now(), pins: pins, allowExpired: p.AllowExpired, allowWeak: p.AllowWeak}
		by, err := check.run(ev.Sums, ev.Signature, keys)
		if by != nil {
			by.Pinned = p.pinned()
		}
		return by, err
	}
	switch {
	case p.RequireSignature, p.pinned():
		return nil, fmt.Errorf("%w: %s, and the policy demands one", ErrUnsigned, missing)
	case p.AllowUnsigned, p.AllowUnchecked:
		return nil, nil
	case len(ev.Sums) == 0 && !slices.ContainsFunc(ev.Hashes, checksum.Hash.Known):
		return nil, unchecked(ev)
	}
	return nil, fmt.Errorf("%w: %s; Policy.AllowUnsigned accepts the hashes that a source or mirror merely states", ErrUnsigned, missing)
}

// suffices decides about a package of which nothing was signed.
func (p Policy) suffices(r *Report, ev Evidence) error {
	if r.Trust > Unchecked || p.AllowUnchecked && !uncheckable(ev) {
		return nil
	}
	return unchecked(ev)
}

func unchecked(ev Evidence) error {
	if uncheckable(ev) {
		return fmt.Errorf("%w: its source states hashes, but none of a known scheme", ErrUnchecked)
	}
	why := "its source states none"
	if slices.ContainsFunc(ev.Hashes, checksum.Hash.Known) {
		why = "its source states one of another scheme than was computed"
	}
	return fmt.Errorf("%w: %s; Policy.AllowUnchecked accepts such packages", ErrUnchecked, why)
}

// uncheckable reports whether the source states hashes of which none can ever be
// compared: nobody knows whether they are right, which is not the same as nothing
// stated.
func uncheckable(ev Evidence) bool {
	stated := slices.ContainsFunc(ev.Hashes, func(h checksum.Hash) bool { return !h.IsZero() })
	return stated && !slices.ContainsFunc(ev.Hashes, checksum.Hash.Known)
}
