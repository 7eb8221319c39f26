package verify

import (
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Judge decides about a package by its computed hashes, local. size is in bytes, or negative
// for a directory. For errors, see [Policy.JudgeArchive].
func (p Policy) Judge(ev Evidence, size int64, local []checksum.Hash) (*Report, error) {
	return p.judge(ev, size, local, func() (CheckedSums, error) { return p.CheckSums(ev) }, false)
}

// judge compares ev with the hashes in local. If more hashes will be computed, it returns only
// errors that these hashes prove.
func (p Policy) judge(ev Evidence, size int64, local []checksum.Hash, sums func() (CheckedSums, error), more bool) (*Report, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if ev.Size > 0 && size >= 0 && ev.Size != size {
		return nil, &checksum.SizeError{Filename: ev.Filename, Want: ev.Size, Got: size}
	}
	r := &Report{Local: checksum.Sorted(local)}
	if err := r.compare(ev); err != nil {
		return nil, err
	}
	if p.Accept != nil && !more {
		if err := p.accept(ev, local); err != nil {
			return nil, err
		}
		r.Trust = Accepted
	}
	claimed := notRefuted(ev.Hashes, local)
	if p.NeedsEvidence() {
		checked, err := sums()
		if err != nil {
			return nil, err
		}
		listed, err := p.compareSums(r, ev, checked)
		if err != nil {
			return nil, err
		}
		claimed = append(claimed, listed...)
		r.Stated = p.recordable(ev, checked, local)
		if r.Trust == Unchecked && !more {
			if err := p.unchecked(ev); err != nil {
				return nil, err
			}
		}
	}
	r.Claimed = without(claimed, r.Local, r.Signed())
	return r, nil
}

// compare compares the stated hashes with the computed ones. For each scheme that both have,
// one must match: an archive has two h1 hashes, and either may be stated.
func (r *Report) compare(ev Evidence) error {
	for _, scheme := range []string{checksum.SchemeZH, checksum.SchemeH1} {
		want, got := checksum.WithScheme(ev.Hashes, scheme), checksum.WithScheme(r.Local, scheme)
		switch {
		case len(want) == 0 || len(got) == 0:
		case !checksum.Overlap(want, got):
			return &checksum.MismatchError{Filename: ev.Filename, Source: "hashes stated by the source", Want: want, Got: got}
		default:
			r.Trust = Checked
		}
	}
	return nil
}

// notRefuted returns the stated hashes that the package may still have. Only of an archive are
// both h1 hashes known, so for a directory no h1 is refuted.
func notRefuted(stated, local []checksum.Hash) []checksum.Hash {
	archive := checksum.HasScheme(local, checksum.SchemeZH)
	return slices.DeleteFunc(slices.Clone(stated), func(h checksum.Hash) bool {
		return archive && h.Known() && checksum.HasScheme(local, h.Scheme()) && !slices.Contains(local, h)
	})
}

func (p Policy) accept(ev Evidence, local []checksum.Hash) error {
	if checksum.Overlap(p.Accept, local) {
		return nil
	}
	mismatch := &checksum.MismatchError{Filename: ev.Filename, Source: "accepted hashes", Want: p.Accept, Got: local}
	return fmt.Errorf("%w: %w", ErrNotAccepted, mismatch)
}

// unchecked returns the error for a package without a hash to compare, or nil if p accepts it.
func (p Policy) unchecked(ev Evidence) error {
	why := "the source states none"
	switch {
	case slices.ContainsFunc(ev.Hashes, checksum.Hash.Known):
		why = "the source states one of another scheme than was computed"
	case slices.ContainsFunc(ev.Hashes, func(h checksum.Hash) bool { return !h.IsZero() }):
		return fmt.Errorf("%w: the source states only hashes of unknown schemes", ErrUnchecked)
	case ev.OthersStated:
		return fmt.Errorf("%w: the source states hashes for other platforms, but none for this one", ErrUnchecked)
	}
	if p.AllowUnchecked {
		return nil
	}
	return fmt.Errorf("%w: %s; set Policy.AllowUnchecked to accept the package", ErrUnchecked, why)
}
