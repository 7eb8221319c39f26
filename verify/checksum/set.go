package checksum

import "slices"

// Set is a rule: a package must have one of these hashes. The zero Set disables the check.
type Set struct {
	hashes []Hash
	rule   bool
}

// NewSet returns a Set of these hashes. Without any, it refuses every package.
func NewSet(hashes ...Hash) Set { return Set{slices.Clone(hashes), true} }

// IsZero reports whether s disables the check.
func (s Set) IsZero() bool { return !s.rule }

// Hashes returns a copy of the hashes, in the order of [NewSet].
func (s Set) Hashes() []Hash { return slices.Clone(s.hashes) }
