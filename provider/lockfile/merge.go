package lockfile

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ErrUnreadable means that the file has content that may hide hashes; see [Entry].Unreadable.
var ErrUnreadable = errors.New("the locked hashes are unreadable")

// ErrNotLockable means that a provider is built into the CLI, or that its address has no
// namespace, as before version 0.13.
var ErrNotLockable = errors.New("provider cannot be locked")

// A Recorder has hashes for a lock file. [*github.com/tofureg/tofureg/verify.Report]
// implements it.
type Recorder interface {
	// Recordable returns the hashes that may be recorded.
	Recordable() []checksum.Hash
}

// Merge records version v of p, its constraint c, and the recordable hashes of reports. If p
// is already locked at v, the hashes are added. If p is locked at another version, the old
// hashes are dropped.
//
// The zero c removes the constraint. Nil reports are ignored. The reports must be about v of
// p, for any platforms, and must agree with the existing hashes: if [File.Covers] is true,
// verify with [File.Accept] as Accept of the policy, or as SameRelease for other platforms.
//
// The error wraps [ErrUnreadable] if the existing hashes of v are unreadable, or the version of
// unreadable hashes. It wraps [ErrNotLockable], or v or c is not valid for a provider. On an
// error f is unchanged.
func (f *File) Merge(p addrs.Provider, v addrs.Version, c addrs.ProviderConstraint, reports ...Recorder) error {
	e := Entry{Provider: p, Version: v, Constraints: c}
	switch old, ok := f.entries[p]; {
	case f.unreadableAt(p, v) && f.unreadable:
		return fmt.Errorf("lock %s: %w: the lock file has unknown content, see File.Warnings; repair it, or replace the entry with File.Set", p, ErrUnreadable)
	case f.unreadableAt(p, v) && old.Version.IsZero():
		return fmt.Errorf("lock %s: %w, and so is their version; repair the lock file, or replace the entry with File.Set or remove it with File.Delete", p, ErrUnreadable)
	case f.unreadableAt(p, v):
		return fmt.Errorf("lock %s: %w; repair the lock file, replace the entry with File.Set, remove it with File.Delete, or lock another version", p, ErrUnreadable)
	case ok && old.Version == v:
		e.Hashes = slices.Clone(old.Hashes)
	}
	for _, r := range reports {
		if r != nil {
			e.Hashes = append(e.Hashes, r.Recordable()...)
		}
	}
	return f.Set(e)
}

// Set replaces the entry of e.Provider by e. Unlike [File.Merge], it does not keep existing
// hashes, also if they are unreadable. If e is Unreadable itself, Set fails with
// [ErrUnreadable]. For other errors, see Merge.
func (f *File) Set(e Entry) error {
	err := e.check()
	if e.Unreadable {
		err = fmt.Errorf("%w, and cannot be copied; clear Entry.Unreadable to lock only Entry.Hashes", ErrUnreadable)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", e.Provider, err)
	}
	e.Hashes = checksum.Sorted(e.Hashes)
	if f.entries == nil {
		f.entries = map[addrs.Provider]Entry{}
	}
	f.entries[e.Provider] = e
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

// Delete removes p and reports whether it was locked.
func (f *File) Delete(p addrs.Provider) bool {
	_, ok := f.entries[p]
	delete(f.entries, p)
	return ok
}

// Keep removes all providers that are not in the list, and returns them in order.
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

// Migrate copies the entries of registry.terraform.io/hashicorp/* to registry.opentofu.org,
// without hashes, because the packages there differ. It skips providers that are already
// locked there. It returns the added providers, in order. The old entries stay. OpenTofu does
// the same when it first reads such a file.
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
