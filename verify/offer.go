package verify

import (
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/verify/checksum"
)

// JudgeOffer returns the error that [Policy.JudgeArchive] would return for every archive, or
// nil if an archive may be accepted. It is called before a download: ev has no Sums and
// Signature then, and the arguments report whether the source has them.
func (p Policy) JudgeOffer(ev Evidence, sums, signature bool) error {
	if err := p.check(); err != nil {
		return err
	}
	if p.Accept != nil && !checksum.HasScheme(p.Accept, checksum.SchemeH1) {
		zh := checksum.WithScheme(ev.Hashes, checksum.SchemeZH)
		noneKnown := !slices.ContainsFunc(p.Accept, checksum.Hash.Known)
		if err := p.accept(ev, zh); err != nil && (noneKnown || len(zh) > 0) {
			return fmt.Errorf("hashes stated by the source: %w", err)
		}
	}
	if !p.NeedsEvidence() {
		return nil
	}
	// The content of the documents does not matter here, only whether they exist.
	ev.Sums, ev.Signature = nil, nil
	if sums {
		ev.Sums = []byte{}
	}
	if signature {
		ev.Signature = []byte{}
	}
	if missing := p.missing(ev); missing != "" {
		if err := p.unsigned(ev, missing); err != nil {
			return err
		}
	}
	if sums {
		return ev.checkFilename(p.AllowAnyName)
	}
	if p.Accept != nil || slices.ContainsFunc(ev.Hashes, checksum.Hash.Known) {
		return nil
	}
	return p.unchecked(ev)
}
