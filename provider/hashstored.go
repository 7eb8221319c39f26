package provider

import (
	"context"

	"github.com/tofureg/tofureg/verify"
)

// HashStore remembers hashes of archives that were computed before, by the zh of the
// archive. Its methods must be safe for concurrent use. Package hashstore has one on
// disk.
type HashStore interface {
	// Hashes returns what was stored for the archive; nil if nothing was.
	Hashes(ctx context.Context, zh verify.Hash) ([]verify.Hash, error)

	// StoreHashes stores all hashes of an archive but its zh.
	StoreHashes(ctx context.Context, zh verify.Hash, hashes []verify.Hash) error
}
