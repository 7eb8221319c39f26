package lockfile

import (
	"iter"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Name is what the CLI calls the file, in the directory of the configuration.
const Name = ".terraform.lock.hcl"

// The headers that the two CLIs give to the files they write.
const (
	HeaderOpenTofu  = "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates."
	HeaderTerraform = "# This file is maintained automatically by \"terraform init\".\n# Manual edits may be lost in future updates."
)

// A File is the content of a lock file. The zero File is an empty one, ready for use.
//
// A File may be read by several goroutines at once while none changes it.
type File struct {
	// Header is the comment at the top of the file, as lines without a newline after the
	// last. If empty, [HeaderOpenTofu] is written, except that a file from [ParseLenient]
	// stays without a header if it has none. A line that is not a comment is written as one.
	Header string

	entries  map[addrs.Provider]Entry // hashes are shared with clones and never changed in place
	doc      *document                // of a lenient file, nil for others
	warnings []*ParseError
}

// An Entry is what a lock file says about one provider.
type Entry struct {
	// Provider is the address of the provider.
	Provider addrs.Provider `json:"provider"`

	// Version is the selected version. It is zero only if ParseLenient could not read it.
	Version addrs.Version `json:"version"`

	// Constraints is the constraint for which the version was selected, zero if there was
	// none. The CLI records it for people and does not read it.
	Constraints addrs.ProviderConstraint `json:"constraints,omitzero"`

	// Hashes are the hashes of this version's packages, for all platforms together and of
	// any scheme, sorted and without duplicates. They are empty if no package is known yet.
	Hashes []checksum.Hash `json:"hashes,omitempty"`

	// Unreadable tells that a file from ParseLenient has hashes here, and none that can be
	// read. The entry covers its version and accepts no package.
	Unreadable bool `json:"unreadable,omitempty"`
}

// equal reports whether e and o would be written alike.
func (e Entry) equal(o Entry) bool {
	return e.Provider == o.Provider && e.Version == o.Version && e.Constraints == o.Constraints && e.sameHashes(o)
}

func (e Entry) sameHashes(o Entry) bool {
	return e.Unreadable == o.Unreadable && slices.Equal(e.Hashes, o.Hashes)
}

// Get returns the entry of p, and false if p is not locked. The entry is a copy.
func (f *File) Get(p addrs.Provider) (Entry, bool) {
	e, ok := f.entries[p]
	e.Hashes = slices.Clone(e.Hashes)
	return e, ok
}

// Len returns the number of providers that are locked.
func (f *File) Len() int { return len(f.entries) }

// All returns copies of all entries, ordered by provider. f may be changed during the
// iteration, which may or may not yield the changes.
func (f *File) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, p := range f.providers() {
			if e, ok := f.Get(p); ok && !yield(e) {
				return
			}
		}
	}
}

// providers returns the locked providers in the order in which they are written.
func (f *File) providers() []addrs.Provider {
	return slices.SortedFunc(maps.Keys(f.entries), addrs.Provider.Compare)
}

// Covers reports whether f has hashes for version v of p, so that [File.Accept] decides
// which packages may be installed. If not, f says nothing about this version: p is not
// locked, is locked at another version, or is locked without hashes. In a file from
// [ParseLenient], hashes that cannot be read count too: no package has one of them.
func (f *File) Covers(p addrs.Provider, v addrs.Version) bool {
	e := f.entries[p]
	return !v.IsZero() && e.Version == v && (len(e.Hashes) > 0 || e.Unreadable)
}

// Accept returns the hashes for version v of p, for the field Accept of a verify.Policy. It
// is never nil: if f does not cover this version, the list is empty, and a policy with it
// refuses every package, as a program wants that installs only what is locked. Other
// programs ask [File.Covers] first. If f does not cover the version, they leave the field
// nil, and the policy demands another proof, such as a signature.
func (f *File) Accept(p addrs.Provider, v addrs.Version) []checksum.Hash {
	if !f.Covers(p, v) {
		return []checksum.Hash{}
	}
	return append([]checksum.Hash{}, f.entries[p].Hashes...)
}

// Equal reports whether f and o lock the same providers, versions and hashes. As in the CLI,
// constraints, comments and layout do not count.
func (f *File) Equal(o *File) bool {
	return maps.EqualFunc(f.entries, o.entries, func(a, b Entry) bool {
		return a.Version == b.Version && a.sameHashes(b)
	})
}

// Clone returns an independent copy of f.
func (f *File) Clone() *File {
	c := *f
	c.entries = maps.Clone(f.entries)
	return &c
}

// Warnings returns what was ignored when the file was read, in the order of the file: blocks
// for modules, which the CLI ignores too, and, in a file from [ParseLenient], everything that
// [Parse] would have refused. At most 50 are kept.
func (f *File) Warnings() []*ParseError { return slices.Clone(f.warnings) }
