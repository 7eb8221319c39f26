package lockfile

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ErrNotLockable: the provider has no packages that could be locked. It is built into
// the CLI, or its address is one from before version 0.13 without a namespace.
var ErrNotLockable = errors.New("provider cannot be locked")

// A Recorder has hashes of a package that a lock file may record, such as a
// *verify.Report.
type Recorder interface {
	// Recordable returns the hashes: those that were computed, and those that are
	// trusted for another reason.
	Recordable() []checksum.Hash
}

// Merge records that version v of p was selected for the constraint c, and the recordable
// hashes of all reports. If p was locked at v, it adds them to the hashes that are there.
// If p was locked at another version, the old hashes are dropped, since they are of other
// packages.
//
// c replaces the constraint that is there; the zero ProviderConstraint leaves none. The
// reports may be for several platforms; nil reports are ignored. The caller makes sure that
// they are about v of p, and that they agree with the hashes that are there, all of which
// stay accepted. A policy whose Accept is [File.Accept] guarantees that.
//
// The error wraps [ErrNotLockable], or says that v or c is not one of a provider. After
// an error f is unchanged.
func (f *File) Merge(p addrs.Provider, v addrs.Version, c addrs.ProviderConstraint, reports ...Recorder) error {
	e := Entry{Provider: p, Version: v, Constraints: c}
	if old := f.entries[p]; old.Version == v {
		e.Hashes, e.Unreadable = slices.Clone(old.Hashes), old.Unreadable
	}
	for _, r := range reports {
		if r != nil {
			e.Hashes = append(e.Hashes, r.Recordable()...)
		}
	}
	return f.Set(e)
}

// Set puts e into f in place of the entry that its provider has. It takes the hashes as
// they are, without asking where they come from; [File.Merge] is the one that asks.
// Entry.Unreadable has no effect unless the entry that is there has it too. The errors are
// those of Merge.
func (f *File) Set(e Entry) error {
	if err := e.check(); err != nil {
		return fmt.Errorf("locking %s: %w", e.Provider, err)
	}
	e.Hashes = checksum.Sorted(e.Hashes)
	old := f.entries[e.Provider]
	e.Unreadable = e.Unreadable && old.Unreadable && old.Version == e.Version && len(e.Hashes) == 0
	if f.entries == nil {
		f.entries = map[addrs.Provider]Entry{}
	}
	f.entries[e.Provider] = e
	return nil
}

// check returns an error if e, once written, could not be read back.
func (e Entry) check() error {
	if err := lockable(e.Provider); err != nil {
		return err
	}
	// A Version can also be one of a module, of which a lock file and the CLI know nothing,
	// and constraints can have become too long by being combined.
	if v, err := addrs.ParseVersion(e.Version.String()); err != nil {
		return err
	} else if v != e.Version {
		return fmt.Errorf("version %s is not one of a provider", e.Version)
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

// Delete removes p from f and reports whether it was there.
func (f *File) Delete(p addrs.Provider) bool {
	_, ok := f.entries[p]
	delete(f.entries, p)
	return ok
}

// Keep removes all providers from f that are not in the list, for example those that a
// configuration no longer requires. It returns the removed providers, in order.
func (f *File) Keep(providers iter.Seq[addrs.Provider]) (removed []addrs.Provider) {
	keep := map[addrs.Provider]bool{}
	for p := range providers {
		keep[p] = true
	}
	for _, p := range f.providers() {
		if !keep[p] {
			removed = append(removed, p)
			delete(f.entries, p)
		}
	}
	return removed
}

// Migrate copies the entries of registry.terraform.io/hashicorp/* to the same names on
// registry.opentofu.org, with versions and constraints. It does not copy the hashes, because
// the packages there are built anew. Providers that are already locked on
// registry.opentofu.org, and other namespaces, do not change. Migrate returns the added
// providers, in order.
//
// The old entries stay, since a configuration may still require them. OpenTofu does the same
// when it first reads such a file.
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
		f.entries[p] = Entry{Provider: p, Version: e.Version, Constraints: e.Constraints}
		added = append(added, p)
	}
	return added
}
