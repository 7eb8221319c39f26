package provider

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// HashOptions for [Hashes]. The zero value is strict and silent and downloads everything.
type HashOptions struct {
	Options

	// Packages are packages of the version that have been found already, such as by
	// [Find]; they are not asked for again.
	Packages []*Package

	// Store keeps hashes from one run to the next; nil: nothing is kept.
	Store HashStore

	// Gate bounds the archives that are in progress at once, together with those of
	// other calls that have the same one; nil: the default of [NewGate], for this call.
	Gate *Gate

	// TempDir is where archives lie while they are hashed; empty: [os.TempDir].
	TempDir string
}

// Hashes returns a report for each platform.
func Hashes(ctx context.Context, src Source, p addrs.Provider, v addrs.Version, on []addrs.Platform, o HashOptions) (map[addrs.Platform]*verify.Report, error) {
	panic("stub")
}
