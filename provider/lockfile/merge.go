package lockfile

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

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
// p, for any platforms, and must agree with the existing hashes: verify with [File.Accept]
// as Accept of the policy, or as SameRelease for other platforms.
//
// The error wraps [ErrNotLockable], or v or c is not valid for a provider. On an error f is
// unchanged.
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

// Set replaces the entry of e.Provider by e. Unlike [File.Merge], it does not keep existing
// hashes. Unreadable has no effect unless the existing entry has it. For the errors, see
// Merge.
func (f *File) Set(e Entry) error {
	if err := e.check(); err != nil {
		return fmt.Errorf("lock %s: %w", e.Provider, err)
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
		f.entries[p] = Entry{Provider: p, Version: e.Version, Constraints: e.Constraints}
		added = append(added, p)
	}
	return added
}
