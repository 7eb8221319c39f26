package lockfile

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Name is the name of the lock file.
const Name = ".terraform.lock.hcl"

// The headers of the two CLIs, and no header.
const (
	HeaderOpenTofu  = "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates."
	HeaderTerraform = "# This file is maintained automatically by \"terraform init\".\n# Manual edits may be lost in future updates."
	HeaderNone      = "\n"
)

// ErrUnreadable means that content may hide hashes; see [Entry].Unreadable.
var ErrUnreadable = errors.New("the locked hashes are unreadable")

// ErrNotLockable means that a provider is built into the CLI, or its address is zero or has no namespace, as before
// Terraform 0.13.
var ErrNotLockable = errors.New("provider cannot be locked")

// A NotLockedError means that a package has no hash that the lock file has for its version.
type NotLockedError struct {
	// Of the package.
	Provider addrs.Provider
	Version  addrs.Version
	Platform addrs.Platform // of the package
	Err      error          // the refusal, such as verify.ErrNotAccepted, or [ErrUnreadable]
}

func (e *NotLockedError) Error() string {
	if errors.Is(e.Err, ErrUnreadable) {
		return fmt.Sprintf("repair the entry of %s in the lock file: %v", e.Provider, e.Err)
	}
	return fmt.Sprintf("the lock file has no hash of the package for %s; if it lacks this platform, \"tofu providers lock -platform=%s %s\" adds it: %v",
		e.Platform, e.Platform, e.Provider, e.Err)
}

func (e *NotLockedError) Unwrap() error { return e.Err }

// A File is the content of a lock file. The zero File is empty; so is nil for Get, Len, All, Covers, Locks and Accept.
// A File is safe for concurrent use while it is not modified.
type File struct {
	// Header is the comment at the top, with or without comment signs. A parser keeps it. If empty, Bytes has
	// [HeaderOpenTofu], unless [ParseLenient] read entries without a header.
	Header string

	entries  map[addrs.Provider]Entry // hashes are shared with clones and never changed in place
	doc      *document                // of a lenient file, nil for others
	warnings []*ParseError

	// constraints is the source of those that ParseLenient could not read, until others replace them.
	constraints map[addrs.Provider]string

	unreadable bool // content outside of the entries may hide hashes of any provider
}

// An Entry is the lock of one provider.
type Entry struct {
	Provider addrs.Provider `json:"provider"` // not zero

	Version addrs.Version `json:"version"` // selected; zero only if Unreadable

	Constraints addrs.ProviderConstraint `json:"constraints,omitzero"` // for which Version was selected, for people; zero if missing, or not understood by [ParseLenient]

	Hashes []checksum.Hash `json:"hashes,omitempty"` // of packages for all platforms, of any scheme, sorted, without duplicates

	Unreadable bool `json:"unreadable,omitempty"` // see [ParseLenient]; the entry has no Hashes and accepts no package
}

// equal reports whether e and o are written in the same way.
func (e Entry) equal(o Entry) bool {
	return e.Provider == o.Provider && e.Version == o.Version && e.Constraints == o.Constraints && e.sameHashes(o)
}

func (e Entry) sameHashes(o Entry) bool {
	return e.Unreadable == o.Unreadable && slices.Equal(e.Hashes, o.Hashes)
}

// Get returns a copy of the entry of p, if there is one.
func (f *File) Get(p addrs.Provider) (Entry, bool) {
	e, ok := f.read().entries[p]
	e.Hashes = slices.Clone(e.Hashes)
	return e, ok
}

// read returns f, or an empty File if it is nil.
func (f *File) read() *File {
	if f == nil {
		return &File{}
	}
	return f
}

// Len returns the number of locked providers.
func (f *File) Len() int { return len(f.read().entries) }

// All yields copies of the entries, ordered by provider. The loop may modify f; added entries are not yielded.
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
	return slices.SortedFunc(maps.Keys(f.read().entries), addrs.Provider.Compare)
}

// Covers reports whether f has hashes of version v of p, so that [File.Accept] decides about packages. It is also true
// if hashes of v may be unreadable; Accept then returns none. The zero version is never covered.
func (f *File) Covers(p addrs.Provider, v addrs.Version) bool {
	f = f.read()
	e := f.entries[p]
	return !v.IsZero() && (e.Version == v && len(e.Hashes) > 0 || f.unreadableAt(p, v))
}

// Locks reports whether f has readable hashes of version v of p; compare [File.Covers].
func (f *File) Locks(p addrs.Provider, v addrs.Version) bool {
	e := f.read().entries[p]
	return !v.IsZero() && e.Version == v && len(e.Hashes) > 0
}

// unreadableAt reports whether f may have hashes of version v of p that cannot be read.
func (f *File) unreadableAt(p addrs.Provider, v addrs.Version) bool {
	e, ok := f.entries[p]
	if !ok {
		return f.unreadable
	}
	return e.Unreadable && (f.unreadable || e.Version == v || e.Version.IsZero())
}

// Accept returns the hashes of version v of p, for [github.com/tofureg/tofureg/verify.Policy].Accept. If f does not
// cover v, the Set refuses every package. To permit versions that are not locked, leave Policy.Accept zero if
// [File.Covers] is false.
func (f *File) Accept(p addrs.Provider, v addrs.Version) checksum.Set {
	if !f.Covers(p, v) {
		return checksum.NewSet()
	}
	return checksum.NewSet(f.entries[p].Hashes...)
}

// Equal reports whether f and o lock the same providers, versions and hashes, as the CLI does.
func (f *File) Equal(o *File) bool {
	if o == nil {
		o = &File{}
	}
	return f.unreadable == o.unreadable && maps.EqualFunc(f.entries, o.entries, func(a, b Entry) bool {
		return a.Version == b.Version && a.sameHashes(b)
	})
}

// Clone returns an independent copy of f.
func (f *File) Clone() *File {
	c := *f
	c.entries, c.constraints = maps.Clone(f.entries), maps.Clone(f.constraints)
	return &c
}

// Warnings returns at most 50 problems that the parser tolerated, in order: blocks for modules, and from [ParseLenient]
// all that [Parse] refuses.
func (f *File) Warnings() []*ParseError { return slices.Clone(f.warnings) }

// Merge records version v of p, its constraint c, and hashes of its packages for any platforms. If p is locked at v,
// the hashes are added; at another version, the old ones are dropped. The zero c removes the old constraint if it
// could be read.
//
// For a new version, pass [github.com/tofureg/tofureg/verify.Report.Recordable]. If [File.Covers] is true, verify with
// [File.Accept], and pass only the Local of the report.
//
// The error wraps [ErrUnreadable] if hashes of v may be unreadable (Set replaces the entry), [ErrNotLockable], or
// neither for an invalid version or constraint. On an error f is unchanged.
func (f *File) Merge(p addrs.Provider, v addrs.Version, c addrs.ProviderConstraint, hashes []checksum.Hash) error {
	e := Entry{Provider: p, Version: v, Constraints: c, Hashes: hashes}
	switch old, ok := f.entries[p]; {
	case f.unreadableAt(p, v) && f.unreadable:
		return fmt.Errorf("lock %s: %w: the lock file has unknown content, see File.Warnings; repair it, since File.Set replaces the entry only until the file is read again", p, ErrUnreadable)
	case f.unreadableAt(p, v) && old.Version.IsZero():
		return fmt.Errorf("lock %s: %w, and so is their version; repair the lock file, or replace the entry with File.Set or remove it with File.Delete", p, ErrUnreadable)
	case f.unreadableAt(p, v):
		return fmt.Errorf("lock %s: %w; repair the lock file, replace the entry with File.Set, remove it with File.Delete, or lock another version", p, ErrUnreadable)
	case ok && old.Version == v:
		e.Hashes = slices.Concat(old.Hashes, hashes)
	}
	return f.Set(e)
}

// Set adds e, or replaces the entry of its provider, also an unreadable one, and sorts the hashes. An Unreadable e is
// [ErrUnreadable]. For other errors, see [File.Merge].
func (f *File) Set(e Entry) error {
	err := e.check()
	if e.Unreadable {
		err = fmt.Errorf("%w, and cannot be copied; clear Entry.Unreadable to lock only Entry.Hashes", ErrUnreadable)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", e.Provider, err)
	}
	e.Hashes = hashlist.Sorted(e.Hashes)
	if f.entries == nil {
		f.entries = map[addrs.Provider]Entry{}
	}
	f.entries[e.Provider] = e
	if !e.Constraints.IsZero() {
		delete(f.constraints, e.Provider)
	}
	return nil
}

// check returns an error if e could not be read back after it is written.
func (e Entry) check() error {
	if err := lockable(e.Provider); err != nil {
		return err
	}
	// A Version may be a module version, and combined constraints may be too long.
	if v, err := addrs.ParseVersion(e.Version.String()); err != nil {
		return err
	} else if v != e.Version {
		return fmt.Errorf("version %s is not a provider version", e.Version)
	}
	_, err := addrs.ParseProviderConstraint(e.Constraints.String())
	return err
}

func lockable(p addrs.Provider) error {
	switch {
	case p.IsZero():
		return fmt.Errorf("%w: the address is empty", ErrNotLockable)
	case p.IsBuiltIn():
		return fmt.Errorf("%w: %s is built into the CLI", ErrNotLockable, p)
	case p.IsLegacy():
		return fmt.Errorf("%w: %s has no namespace", ErrNotLockable, p)
	}
	return nil
}

// Delete removes p, with the comments directly above it, and reports whether it was locked.
func (f *File) Delete(p addrs.Provider) bool {
	_, ok := f.entries[p]
	delete(f.entries, p)
	delete(f.constraints, p)
	return ok
}

// Keep removes all other providers, and returns them in order.
func (f *File) Keep(providers iter.Seq[addrs.Provider]) (removed []addrs.Provider) {
	keep := map[addrs.Provider]bool{}
	for p := range providers {
		keep[p] = true
	}
	for _, p := range f.providers() {
		if !keep[p] {
			removed = append(removed, p)
			f.Delete(p)
		}
	}
	return removed
}

// Migrate does as OpenTofu: for each entry of registry.terraform.io/hashicorp/* it adds a missing one of
// registry.opentofu.org, with the version and the constraint, but no hashes. It returns the added providers, in order.
func (f *File) Migrate() []addrs.Provider {
	var added []addrs.Provider
	for _, old := range f.providers() {
		e := f.entries[old]
		if old.Host().String() != "registry.terraform.io" || old.Namespace() != "hashicorp" || e.Version.IsZero() {
			continue
		}
		p, err := addrs.NewProvider(addrs.DefaultHost(), old.Namespace(), old.Type())
		if _, ok := f.entries[p]; ok || err != nil {
			continue
		}
		f.entries[p] = Entry{Provider: p, Version: e.Version, Constraints: e.Constraints, Unreadable: f.unreadable}
		added = append(added, p)
	}
	return added
}
