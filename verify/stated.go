package verify

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/verify/checksum"
)

// ErrNotStated means that what a source states about an archive does not suffice: only
// the archive can tell.
var ErrNotStated = errors.New("only the archive can tell")

// JudgeStated decides about an archive that was not downloaded, by what its source states.
// It is for lock files of several platforms. It applies the policy that has checked the
// document, and c may serve all archives of a version.
//
// In the report Local is empty. Trust is Signed if a signature covers the zh of the
// archive, Accepted if a stated hash is one of [Policy.Accept], and otherwise Checked.
// Signed and Claimed are as in [Policy.JudgeArchive]; where SHA256SUMS lists the archive
// and the source states no zh of it, nothing shows that a stated h1 is of the same archive,
// so Claimed lacks the h1.
//
// The error wraps [ErrNotStated] if the archive itself may be accepted; any other error
// says that it would be refused.
func (c CheckedSums) JudgeStated(ev Evidence) (*Report, error) {
	p := c.policy
	if c.by == nil && p.NeedsEvidence() {
		if err := p.unsigned(ev, "SHA256SUMS was not signed"); err != nil {
			return nil, err
		}
	}
	zh := checksum.WithScheme(ev.Hashes, checksum.SchemeZH)
	if len(zh) > 1 {
		return nil, fmt.Errorf("%w: its source states %d zh hashes of it", ErrNotStated, len(zh))
	}
	r := &Report{RecordStated: p.RecordStated}
	if checksum.HasScheme(ev.Hashes, checksum.SchemeH1) || len(zh) > 0 {
		r.Trust = Checked
	}
	if p.Accept != nil {
		if !checksum.Overlap(p.Accept, ev.Hashes) {
			return nil, fmt.Errorf("%w: its source states none of the accepted hashes", ErrNotStated)
		}
		r.Trust = Accepted
	}
	claimed := ev.Hashes
	if p.NeedsEvidence() && c.doc != nil {
		line, err := p.line(ev, c.doc)
		switch {
		case err != nil:
			return nil, err
		case len(zh) == 0:
			claimed = nil
		case zh[0] != line:
			return nil, fmt.Errorf("as its source states it: %w", c.mismatch(ev, line, zh))
		}
		claimed = append(r.take(c), claimed...)
	}
	if r.Trust == Unchecked {
		return nil, fmt.Errorf("%w: its source states no hash of a known scheme", ErrNotStated)
	}
	r.Claimed = without(claimed, r.Signed())
	return r, nil
}
