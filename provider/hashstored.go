package provider

import (
	"context"
	"slices"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// HashStore keeps the hashes that were computed of archives, by the zh of the archive, so
// that it need not be downloaded again for them. Its methods must be safe for concurrent
// use. Package hashstore has one for a directory.
//
// What a store returns is believed as if it had been computed just now, so only those may
// write to it who may write lock files.
type HashStore interface {
	// Hashes returns what is kept for the archive; nil if that is nothing.
	Hashes(ctx context.Context, zh checksum.Hash) ([]checksum.Hash, error)

	// StoreHashes keeps the hashes of an archive, in place of what is kept for it. They
	// are all that were computed, but for the zh: one h1, or two if the archive has
	// entries for directories.
	StoreHashes(ctx context.Context, zh checksum.Hash, hashes []checksum.Hash) error
}

// recall returns what would be computed of the archive whose zh the source states, if the
// store has that; otherwise nil.
//
// Nobody sees the bytes. That is no loss: the zh stands for them, and whoever could make
// the source state a zh of the store could as well make it deliver that archive.
func (h *hashing) recall(ctx context.Context, pkg *Package) []checksum.Hash {
	zh := checksum.WithScheme(pkg.Evidence().Hashes, checksum.SchemeZH)
	if h.Store == nil || len(zh) != 1 {
		return nil
	}
	kept, err := h.Store.Hashes(ctx, zh[0])
	if err != nil {
		h.storeFailed(ctx, pkg, err)
		return nil
	}
	h1 := checksum.WithScheme(kept, checksum.SchemeH1)
	if len(h1) == 0 {
		return nil
	}
	return append(zh, h1...)
}

// remembered returns a report if the policy accepts an archive with the hashes that were
// recalled; otherwise nil.
func (h *hashing) remembered(ctx context.Context, pkg *Package, local []checksum.Hash) (*verify.Report, error) {
	ev := pkg.Evidence()
	if h.Policy.NeedsEvidence() {
		var err error
		if ev, err = h.src.Evidence(ctx, pkg); err != nil {
			return nil, err
		}
	}
	report, err := h.Policy.Judge(ev, -1, local)
	if err != nil {
		// The store may be wrong, or what the source states. The archive is not.
		return nil, nil
	}
	return report, nil
}

// remember puts what was computed into the store.
func (h *hashing) remember(ctx context.Context, pkg *Package, zh checksum.Hash, report *verify.Report) {
	if h.Store == nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(report.Local), func(l checksum.Hash) bool { return l == zh })
	if err := h.Store.StoreHashes(ctx, zh, others); err != nil {
		h.storeFailed(ctx, pkg, err)
	}
}

// storeFailed tells of a store that only costs time by that.
func (h *hashing) storeFailed(ctx context.Context, pkg *Package, err error) {
	if ctx.Err() == nil {
		h.tell(Event{Kind: EventStoreFailed, Platform: pkg.Platform, Err: err})
	}
}
