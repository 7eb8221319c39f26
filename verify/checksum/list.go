package checksum

import "slices"

// WithScheme returns the hashes of the scheme, in the order of list.
func WithScheme(list []Hash, scheme string) []Hash {
	var found []Hash
	for _, h := range list {
		if h.Scheme() == scheme {
			found = append(found, h)
		}
	}
	return found
}

// HasScheme reports whether list has a hash of the scheme.
func HasScheme(list []Hash, scheme string) bool {
	return slices.ContainsFunc(list, func(h Hash) bool { return h.Scheme() == scheme })
}

// Overlap reports whether a and b share a hash of a known scheme.
func Overlap(a, b []Hash) bool {
	return slices.ContainsFunc(a, func(h Hash) bool { return h.Known() && slices.Contains(b, h) })
}

// Sorted returns the hashes of all lists in a new slice, sorted, without duplicates and zero
// Hashes.
func Sorted(lists ...[]Hash) []Hash {
	var all []Hash
	for _, list := range lists {
		for _, h := range list {
			if !h.IsZero() {
				all = append(all, h)
			}
		}
	}
	slices.SortFunc(all, Hash.Compare)
	return slices.Compact(all)
}
