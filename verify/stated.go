package verify

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/verify/checksum"
)

// ErrNotStated means that only the archive itself can decide.
var ErrNotStated = errors.New("the stated hashes do not suffice")

// JudgeStated decides about an archive without reading it, by the hashes that its source
// states and the policy of c, as for lock files of several platforms.
//
// In the report Local is empty. Trust is Signed if a signature covers the zh, Accepted if a
// stated hash is in [Policy.Accept], otherwise Checked. Claimed has an h1 only if SHA256SUMS
// confirms a stated zh, or if there is no SHA256SUMS.
//
// If the error wraps [ErrNotStated], the archive itself may be accepted. Any other error would
// also refuse the archive.
func (c CheckedSums) JudgeStated(ev Evidence) (*Report, error) {
	p := c.policy
	if c.by == nil && p.NeedsEvidence() {
		if err := p.unsigned(ev, "SHA256SUMS is not signed"); err != nil {
			return nil, err
		}
	}
	zh := checksum.WithScheme(ev.Hashes, checksum.SchemeZH)
	if len(zh) > 1 {
		return nil, fmt.Errorf("%w: the source states %d zh hashes", ErrNotStated, len(zh))
	}
	r := &Report{}
	if checksum.HasScheme(ev.Hashes, checksum.SchemeH1) || len(zh) > 0 {
		r.Trust = Checked
	}
	if p.Accept != nil {
		if !checksum.Overlap(p.Accept, ev.Hashes) {
			return nil, fmt.Errorf("%w: the source states none of the accepted hashes", ErrNotStated)
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
			return nil, fmt.Errorf("hashes stated by the source: %w", c.mismatch(ev, line, zh))
		}
		claimed = append(r.addSums(c), claimed...)
		r.Stated = p.recordable(ev, c, nil)
	}
	if r.Trust == Unchecked {
		return nil, fmt.Errorf("%w: the source states no hash of a known scheme", ErrNotStated)
	}
	r.Claimed = without(claimed, r.Signed())
	return r, nil
}
