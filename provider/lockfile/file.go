package lockfile

import (
	"iter"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Name is the name of the lock file in the directory of the configuration.
const Name = ".terraform.lock.hcl"

// The headers of the two CLIs.
const (
	HeaderOpenTofu  = "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates."
	HeaderTerraform = "# This file is maintained automatically by \"terraform init\".\n# Manual edits may be lost in future updates."
)

// A File is the content of a lock file. The zero File is empty and ready to use. It is safe
// for concurrent use while it is not modified.
type File struct {
	// Header is the comment at the top of the file, without a newline at the end. If empty,
	// [HeaderOpenTofu] is written, except to a file from [ParseLenient] that had content without a header.
	// Lines without a comment sign get one.
	Header string

	entries  map[addrs.Provider]Entry // hashes are shared with clones and never changed in place
	doc      *document                // of a lenient file, nil for others
	warnings []*ParseError

	unreadable bool // content outside of the entries may hide hashes of any provider
}

// An Entry is the lock of one provider.
type Entry struct {
	// Provider is the address of the provider.
	Provider addrs.Provider `json:"provider"`

	// Version is the selected version. It is zero only if the entry is Unreadable.
	Version addrs.Version `json:"version"`

	// Constraints is the constraint for which the version was selected, for people, or zero.
	Constraints addrs.ProviderConstraint `json:"constraints,omitzero"`

	// Hashes are the hashes of the packages for all platforms, of any scheme, sorted, without
	// duplicates.
	Hashes []checksum.Hash `json:"hashes,omitempty"`

	// Unreadable says that a file from [ParseLenient] has content that may hide hashes of the
	// provider. Hashes is empty then, and the entry accepts no package.
	Unreadable bool `json:"unreadable,omitempty"`
}

// equal reports whether e and o are written in the same way.
func (e Entry) equal(o Entry) bool {
	return e.Provider == o.Provider && e.Version == o.Version && e.Constraints == o.Constraints && e.sameHashes(o)
}

func (e Entry) sameHashes(o Entry) bool {
	return e.Unreadable == o.Unreadable && slices.Equal(e.Hashes, o.Hashes)
}

// Get returns a copy of the entry of p, and false if p is not locked.
func (f *File) Get(p addrs.Provider) (Entry, bool) {
	e, ok := f.entries[p]
	e.Hashes = slices.Clone(e.Hashes)
	return e, ok
}

// Len returns the number of locked providers.
func (f *File) Len() int { return len(f.entries) }

// All yields copies of the entries, ordered by provider. If f is modified during the
// iteration, All may or may not yield the changes.
func (f *File) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, p := range f.providers() {
			if e, ok := f.Get(p); ok && !yield(e) {
				return
			}
		}
	}
}

// providers returns the locked providers in order.
func (f *File) providers() []addrs.Provider {
	return slices.SortedFunc(maps.Keys(f.entries), addrs.Provider.Compare)
}

// Covers reports whether p is locked at version v with hashes, so that [File.Accept] decides
// which packages may be installed. It is also true if the hashes are unreadable, or the version
// of unreadable hashes, or content outside of the entries.
func (f *File) Covers(p addrs.Provider, v addrs.Version) bool {
	e := f.entries[p]
	return !v.IsZero() && (e.Version == v && len(e.Hashes) > 0 || f.unreadableAt(p, v))
}

// unreadableAt reports whether f may have hashes of version v of p that cannot be read.
func (f *File) unreadableAt(p addrs.Provider, v addrs.Version) bool {
	e, ok := f.entries[p]
	if !ok {
		return f.unreadable
	}
	return e.Unreadable && (f.unreadable || e.Version == v || e.Version.IsZero())
}

// Accept returns the hashes of version v of p, for the field Accept of
// [github.com/tofureg/tofureg/verify.Policy]. If f does not cover v, the result is empty but
// not nil, and a policy with it refuses every package. Programs that may install versions that
// are not locked call [File.Covers] first, and leave the field nil.
func (f *File) Accept(p addrs.Provider, v addrs.Version) []checksum.Hash {
	if !f.Covers(p, v) {
		return []checksum.Hash{}
	}
	return append([]checksum.Hash{}, f.entries[p].Hashes...)
}

// Equal reports whether f and o lock the same providers, versions and hashes. Constraints,
// comments and layout do not count, as in the CLI.
func (f *File) Equal(o *File) bool {
	return f.unreadable == o.unreadable && maps.EqualFunc(f.entries, o.entries, func(a, b Entry) bool {
		return a.Version == b.Version && a.sameHashes(b)
	})
}

// Clone returns an independent copy of f.
func (f *File) Clone() *File {
	c := *f
	c.entries = maps.Clone(f.entries)
	return &c
}

// Warnings returns what the parser ignored, in the order of the file, at most 50 warnings:
// blocks for modules, and in a file from [ParseLenient] everything that [Parse] refuses.
func (f *File) Warnings() []*ParseError { return slices.Clone(f.warnings) }
