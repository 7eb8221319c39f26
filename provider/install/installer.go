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

// An Installer does what "tofu init" does about providers: it installs those that a
// configuration requires, and keeps the lock file.
//
// Set the fields before the first call and do not change them afterwards. Methods may be
// called concurrently, also in several processes with the same directories.
type Installer struct {
	// Source lists versions and has packages: a registry, a mirror, or several of them. If
	// nil, the Installer is offline: a provider that is not locked and in Dir or Cache
	// fails with [provider.ErrOffline].
	Source provider.Source

	// Dir is the directory in which the packages are installed. It is required.
	Dir *Dir

	// Cache, if not nil, is a directory shared with other projects. Packages are installed
	// there, and placed from there in Dir.
	Cache *Dir

	// TrustCache uses a package in Cache as it is if the lock file has no hashes of the
	// selected version, and Policy has no Accept, RequireSignature, Keys or Fingerprints.
	// The source is not asked, no signature is checked, and the lock file gains the h1 of
	// the package, even if another user put it there. It corresponds to the CLI's setting
	// plugin_cache_may_break_dependency_lock_file, except that hashes in the lock file are
	// enforced. If false, such a package is downloaded and verified again.
	TrustCache bool

	// Link says how a package gets from Cache into Dir. If empty, [Symlink] is used.
	Link LinkMode

	// Policy returns the policy for the packages of a provider. If nil, the zero policy
	// holds for all providers, which demands a signature. Policy is called once for each
	// provider, before the work begins.
	//
	// If the lock file has hashes of the selected version, they replace the Accept of the
	// policy: a package needs one of them, whatever else speaks for it. With
	// RequireSignature it needs a signature as well. A directory has no signature, so
	// packages in Dir or Cache are not used then.
	//
	// For a package of LockPlatforms there are two cases if the lock file covers the
	// version. If its source states a locked hash, the package must have a locked hash,
	// as above. Otherwise the lock file lacks the package, and the policy decides. A
	// SHA256SUMS document that it looks at must then list a locked archive, or the error
	// wraps [verify.ErrOtherRelease]. In both cases the lock file gains only hashes that
	// were computed here; RecordStated has an effect only on a version that is not locked.
	Policy func(addrs.Provider) verify.Policy

	// Platform is the platform to install for. If zero, it is the platform of this program.
	Platform addrs.Platform

	// Protocols are the plugin protocol versions that the caller speaks. If zero,
	// ">= 5, < 7" is used. Versions without a supported protocol are skipped.
	Protocols addrs.ProviderConstraint

	// LockPlatforms are the platforms whose hashes the lock file should have beside those of
	// Platform. Their packages are hashed and not installed, and downloaded only if nothing
	// cheaper suffices. The package comment says when the lock file is taken to have the
	// hashes already. [provider.Hashes] adds single platforms to a lock file at less cost.
	LockPlatforms []addrs.Platform

	// Upgrade chooses versions anew instead of keeping those of the lock file.
	Upgrade bool

	// DevOverrides are directories with packages under development. Their providers are
	// not resolved, hashed, installed or locked. The CLI's init tries to install and lock
	// them, and warns that it may fail.
	DevOverrides map[addrs.Provider]string

	// Hashes, if not nil, stores computed hashes of archives for later runs and other
	// projects, so that the archives are not downloaded again for LockPlatforms. A failure
	// of the store is reported as [provider.EventStoreFailed].
	Hashes provider.HashStore

	// TempDir is the directory for packages of LockPlatforms while they are hashed. If
	// empty, [os.TempDir] is used. It needs room for Parallel packages, and should not be
	// in memory.
	TempDir string

	// Parallel is the maximum number of packages that are worked on at once. If 0 or less,
	// 32 is used.
	Parallel int

	// Progress, if not nil, is called for each step, and each call of Ensure waits for it.
	// The calls of one Ensure never overlap; they mix the events of different packages.
	//
	// [provider.EventResolving] is sent when versions are listed, then the events of
	// [Dir.Install], or [provider.EventReused] for an installed package. The last event of
	// a provider is [provider.EventInstalled] or [EventFailed]. Providers that are built in
	// or overridden have no events. The packages of LockPlatforms have the events of
	// [provider.Hashes].
	Progress func(provider.Event)
}

// EventFailed is reported by [Installer.Ensure]: a provider could not be installed, or
// not be locked for all platforms. Err says why.
const EventFailed provider.EventKind = "failed"

// defaultParallel is used if Installer.Parallel is not set.
const defaultParallel = 32

// Ensure installs a version of each required provider that its constraint allows. It
// returns the selections and an updated copy of lock, which the caller saves. A nil lock is
// an empty one. Ensure does not change lock.
//
// A locked version is kept unless Upgrade is set. Otherwise Ensure selects the newest
// version that the constraint allows and that has a package for Platform. A package in Dir,
// or else in Cache, is used if it has a locked hash, without a request. Otherwise the
// package is downloaded and verified. Providers are worked on side by side.
//
// A provider that is built into the CLI needs no work. It must be
// terraform.io/builtin/terraform and have no constraint.
//
// A failure of one provider does not stop the others. The error joins the failures in the
// order of the providers, one [*provider.Error] for each provider, or for each platform that
// could not be locked. They wrap for example a [*LockedError], a [*lockfile.NotLockedError],
// [provider.ErrOffline] or an error of package verify. The result is valid beside an error,
// and its lock worth saving. A provider that failed has [Selection.Err], and its entry in the
// lock is as before. If the Installer itself is invalid, there are no selections.
func (in *Installer) Ensure(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, requirements, lock, false)
}

// Plan returns what Ensure would do, and writes nothing. It asks the source for versions and
// packages as Ensure does, but downloads no package. So it does not know whether a package
// would be accepted, and the lock of the result lacks hashes that only packages tell.
//
// A program that must not change its lock file compares it with the lock of a plan by
// [lockfile.File.Equal]: they differ if a version or the set of providers would change.
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
