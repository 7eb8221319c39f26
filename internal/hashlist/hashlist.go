// Package hashlist has what packages that verify and serve providers do with lists of hashes.
package hashlist

import (
	"iter"
	"slices"

	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/verify/checksum"
)

// OfBytes reports whether h is a hash of the bytes of an archive, as a zh is, and not of its content.
func OfBytes(h checksum.Hash) bool {
	_, ok := scheme.Named(h.Scheme())
	return ok
}

// Known reports whether h is a hash of the bytes of an archive, or an h1.
func Known(h checksum.Hash) bool { return OfBytes(h) || h.Scheme() == checksum.SchemeH1 }

// Has reports whether list has a hash of the scheme.
func Has(list []checksum.Hash, scheme string) bool {
	return slices.ContainsFunc(list, func(h checksum.Hash) bool { return h.Scheme() == scheme })
}

// Overlap reports whether a and b share a hash that is [Known].
func Overlap(a, b []checksum.Hash) bool {
	return slices.ContainsFunc(a, func(h checksum.Hash) bool { return Known(h) && slices.Contains(b, h) })
}

// Sorted returns the hashes of all lists in a new slice, sorted, without duplicates and zero hashes.
func Sorted(lists ...[]checksum.Hash) []checksum.Hash {
	all := slices.DeleteFunc(slices.Concat(lists...), checksum.Hash.IsZero)
	slices.SortFunc(all, checksum.Hash.Compare)
	return slices.Compact(all)
}

// H1 returns the h1 of files, see [scheme.H1].
func H1(files iter.Seq2[string, [32]byte]) (checksum.Hash, error) {
	value, err := scheme.H1(files)
	if err != nil {
		return checksum.Hash{}, err
	}
	return checksum.ParseHash(checksum.SchemeH1 + ":" + value)
}
