package provider

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// HashStore remembers the h1 hashes of archives that were computed before, by zh. Its
// methods must be safe for concurrent use.
type HashStore interface {
	// Hashes returns what was stored for the archive; nil if nothing was.
	Hashes(ctx context.Context, zh verify.Hash) ([]verify.Hash, error)
	StoreHashes(ctx context.Context, zh verify.Hash, hashes []verify.Hash) error
}

// HashOptions for Hashes.
type HashOptions struct {
	Options
	Store    HashStore // nil: none
	Parallel int       // platforms at once; 0: 32
}

// Hashes returns a report for each platform.
func Hashes(ctx context.Context, src Source, p addrs.Provider, v addrs.Version, on []addrs.Platform, o HashOptions) (map[addrs.Platform]*verify.Report, error) {
	panic("stub")
}
