package install

import (
	"context"
	"errors"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// An Installer makes sure that the providers which a configuration requires are in its
// plugin directory: it is the part of "tofu init" that deals with providers, as a value.
//
// Set the fields before the first call and leave them alone from then on. Several calls
// may run at once, also in several processes with the same directories.
type Installer struct {
	// Source is where versions and packages come from: a registry, a mirror, or
	// several of these. Nil means offline: what is not locked, and in Dir or Cache, is
	// [provider.ErrOffline].
	Source provider.Source

	// Dir is where the packages are to be. It is required.
	Dir *Dir

	// Cache is a directory shared with other projects. Packages are installed there,
	// and from there into Dir. Nil: there is none.
	Cache *Dir

	// TrustCache takes a package that is in Cache as it is where the lock file has no
	// hashes of the selected version, and Policy no Accept, RequireSignature, Keys or
	// Fingerprints. Its source is not asked about it, no signature is checked, and all that
	// the lock file gets is the h1 of what is there, whoever put it there. It
	// corresponds to plugin_cache_may_break_dependency_lock_file in the configuration of
	// the CLI, except that hashes in the lock file are still enforced. False: such a
	// package is downloaded and verified again.
	TrustCache bool

	// Link says how a package gets from Cache into Dir. If empty, [Symlink] is used.
	Link LinkMode

	// Policy returns what decides about the packages of a provider; nil means the zero
	// policy for all, which wants a signature. It is called once for each provider,
	// before the work begins.
	//
	// Where the lock file has hashes of the selected version these become the Accept of
	// the policy, and a package needs one of them, whatever else speaks for it. With
	// RequireSignature it needs a signature too, and since a directory has none, what
	// is in Dir or Cache does not count then.
	//
	// For a package of LockPlatforms there are two cases if the lock file covers the
	// version. If its source states a locked hash, the package must have a locked hash,
	// as above. Otherwise the lock file lacks the package, and the policy decides. A
	// SHA256SUMS document that it looks at must then list a locked archive, or the error
	// wraps [verify.ErrOtherRelease]. In both cases the lock file gains only hashes that
	// were computed here; RecordStated has an effect only on a version that is not locked.
	Policy func(addrs.Provider) verify.Policy

	// Platform to install for; zero: that of this program.
	Platform addrs.Platform

	// Protocols are the plugin protocol versions that the caller can speak; zero:
	// ">= 5, < 7". A version that speaks none of them is not chosen.
	Protocols addrs.ProviderConstraint

	// LockPlatforms are platforms whose hashes the lock file is to have beside those of
	// Platform. Their packages are downloaded and hashed where nothing cheaper will do,
	// but not installed. The package comment
	// tells when a lock file is taken to have the hashes already.
	LockPlatforms []addrs.Platform

	// Upgrade chooses versions anew instead of keeping those of the lock file.
	Upgrade bool

	// DevOverrides are directories with packages under development. Their providers
	// are left alone: nothing is resolved, hashed, installed or locked. The init of the
	// CLI tries to install and lock them nevertheless, and warns that it may fail.
	DevOverrides map[addrs.Provider]string

	// Hashes keeps what was computed of archives, from one run to the next and from one
	// project to the other: they are not downloaded again for LockPlatforms. Nil: nothing
	// is kept. A failure of it is a [provider.EventStoreFailed].
	Hashes provider.HashStore

	// TempDir is where packages for LockPlatforms lie while they are hashed; empty:
	// [os.TempDir]. There must be room for Parallel of them, and where that is memory,
	// as on some systems, there should be another place.
	TempDir string

	// Parallel is the maximum number of packages that are worked on at once. If 0 or less,
	// 32 is used.
	Parallel int

	// Progress is told each step; nil: nobody is. Each call of Ensure calls it from one
	// goroutine at a time, with the events of different packages mixed, and waits for
	// it. Calls of Ensure that run at once call it independently of each other.
	//
	// [provider.EventResolving] comes when versions are asked for, then those of
	// [Dir.Install], or [provider.EventReused] for a package that was there. In the end
	// each provider has [provider.EventInstalled] or [EventFailed], but those that are
	// built in or overridden nothing. The packages of LockPlatforms have the events of
	// [provider.Hashes].
	Progress func(provider.Event)
}

// EventFailed is reported by [Installer.Ensure]: a provider could not be installed, or
// not be locked for all platforms. Err says why.
const EventFailed provider.EventKind = "failed"

// defaultParallel is used if Installer.Parallel is not set.
const defaultParallel = 32

// Ensure installs a version of each required provider that its constraint allows, and
// returns what there is now, with an updated copy of lock. The caller saves that. A nil
// lock is an empty one; lock itself is not changed.
//
// A locked version is kept unless Upgrade is set. Another version is the newest that the
// constraint allows and that has a package for Platform, as far as the source tells. What
// is in Dir is used if its content is as locked, then what is in Cache: a provider that is
// locked and there costs no request. Otherwise its package is downloaded and verified.
// Providers are worked on side by side.
//
// A provider that is built into the CLI is no work, but must have no constraint, and be
// one that exists: only terraform.io/builtin/terraform does.
//
// One provider's failure stops no other one. The error joins all of them in the order of
// the providers, each a [*provider.Error], or one for each platform that could not be
// locked, for example with [*LockedError], [provider.ErrOffline] or what package verify refuses.
// The result is valid beside an error, and its lock worth saving: it has every provider,
// those that failed with [Selection.Err] and, in the lock, as they were. Only of an
// Installer that cannot work there are no selections.
func (in *Installer) Ensure(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, requirements, lock, false)
}

// Plan tells what Ensure would do, without writing anything. It asks the source as Ensure
// does for versions and for the package, but fetches none, so that it cannot know whether
// it would be accepted. The lock of the result lacks the hashes that only packages tell.
//
// A program that must not change its lock file compares the one of a plan with it, by
// [lockfile.File.Equal]: they differ if a version or the set of providers would.
func (in *Installer) Plan(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, requirements, lock, true)
}

// check refuses an Installer that cannot work.
func (in *Installer) check() error {
	switch {
	case in.Dir == nil:
		return errors.New("install: Installer.Dir is nil")
	case slices.Contains(in.LockPlatforms, addrs.Platform{}):
		return errors.New("install: one of Installer.LockPlatforms is empty")
	}
	return nil
}
