package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Provenance decides who built an archive, without requests, as the module contrib/attest does. It is safe for
// concurrent use.
type Provenance interface {
	// Builder returns who built the archive with this zh according to ev.Attestations, or an error if that is unknown or
	// not permitted. If it needs ev.Sums, which is nil, the error wraps [ErrNotStated]; if it cannot judge any archive,
	// [ErrPolicy]. It ends soon after ctx.
	Builder(ctx context.Context, ev Evidence, zh checksum.Hash) (Build, error)
}

// A Build says who built an archive.
type Build struct {
	Issuer     string    `json:"issuer"`             // URL of the service that vouches for the rest
	Repository string    `json:"repository"`         // URL of the source code
	Ref        string    `json:"ref,omitempty"`      // such as refs/tags/v1.2.0
	Commit     string    `json:"commit,omitempty"`   // of the source code
	Workflow   string    `json:"workflow,omitempty"` // URL of what ran, with its ref after "@"
	Time       time.Time `json:"time,omitzero"`      // of the attestation
}

// built sets r.BuiltBy for the archive with the zh in hashes, if p demands that.
func (p Policy) built(ctx context.Context, r *Report, ev Evidence, hashes []checksum.Hash) error {
	if p.Provenance == nil {
		return nil
	}
	zh := checksum.WithScheme(hashes, checksum.SchemeZH)
	if len(ev.Attestations) == 0 && ev.AttestationError != nil {
		return fmt.Errorf("%w: %w: %w", ErrProvenance, ErrNotStated, ev.AttestationError)
	}
	if len(zh) != 1 || len(ev.Attestations) == 0 {
		return fmt.Errorf("%w: %w: the source has no attestation of the archive, or its zh is not known", ErrProvenance, ErrNotStated)
	}
	by, err := p.Provenance.Builder(ctx, ev, zh[0])
	switch {
	case errors.Is(err, ErrPolicy):
		return fmt.Errorf("provenance: %w", err)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrProvenance, err)
	}
	r.BuiltBy = &by
	return nil
}
