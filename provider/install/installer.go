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

// An Installer installs the required providers and updates the lock file.
//
// Set the fields before the first call and do not change them afterwards. Methods may be called
// concurrently, also by processes with the same directories.
type Installer struct {
	// Source lists versions and provides packages. If nil, the Installer is offline: a provider
	// that is not locked and in Dir or Cache fails with [provider.ErrOffline].
	Source provider.Source

	// Dir is the directory to install in. It is required.
	Dir *Dir

	// Cache, if not nil, is a directory shared with other projects. Packages are installed in it
	// and placed from there in Dir.
	Cache *Dir

	// TrustCache accepts a package in Cache unverified if the lock file has no hashes of the selected
	// version and Policy sets no Accept, RequireSignature, Keys or Fingerprints. The lock file gains
	// the h1 of the package, whichever user put it there. The CLI's setting is
	// plugin_cache_may_break_dependency_lock_file. If false, such a package is downloaded again.
	TrustCache bool

	// Link says how packages get from Cache into Dir. If empty, [Symlink] is used.
	Link LinkMode

	// Policy returns the policy for a provider, and is called once for each. If nil, the zero policy
	// is used, which demands a signature.
	//
	// If the lock file has hashes of the selected version, they replace the Accept of the policy.
	// With RequireSignature a package needs a signature as well; then packages in Dir and Cache,
	// which have none, are not used.
	//
	// If the lock file covers the version, but the source states no locked hash for a package of
	// LockPlatforms, the policy decides. Then a SHA256SUMS document in use must list a locked
	// archive, or the error wraps [verify.ErrOtherRelease].
	Policy func(addrs.Provider) verify.Policy

	// Platform is the platform to install for. If zero, the platform of this program is used.
	Platform addrs.Platform

	// Protocols are the plugin protocol versions that the caller speaks. If zero, ">= 5, < 7" is
	// used. Versions without a supported protocol are skipped.
	Protocols addrs.ProviderConstraint

	// LockPlatforms are the platforms whose hashes the lock file should have beside those of
	// Platform. Their packages are hashed but not installed.
	//
	// A lock file does not say which platform a hash is for, so Ensure counts. If the lock file has
	// an h1 for as many archives as there are platforms, it hashes nothing. After replacing one
	// platform by another, delete the provider's entry from the lock file.
	LockPlatforms []addrs.Platform

	// Upgrade selects new versions instead of keeping the locked ones.
	Upgrade bool

	// DevOverrides are directories with packages under development. Their providers are not
	// resolved, hashed, installed or locked.
	DevOverrides map[addrs.Provider]string

	// Hashes, if not nil, stores computed hashes of archives for LockPlatforms.
	Hashes provider.HashStore

	// TempDir is for packages while they are hashed for LockPlatforms. If empty, it is [os.TempDir].
	// It should not be in memory.
	TempDir string

	// Parallel is the maximum number of packages in progress. If 0 or less, 32 is used.
	Parallel int

	// Progress, if not nil, is called for each step. The calls of one Ensure never overlap, and
	// Ensure waits for them. The last event of a provider is [provider.EventInstalled] or
	// [EventFailed].
	Progress func(provider.Event)
}

// EventFailed is the event of [Installer.Ensure] for a provider that could not be installed or
// locked. Err is the cause.
const EventFailed provider.EventKind = "failed"

const defaultParallel = 32

// Ensure installs the required providers and returns the selections with an updated copy of lock,
// which the caller saves. A nil lock is empty. Ensure does not change lock.
//
// Unless Upgrade is set, Ensure keeps a locked version. Otherwise it selects the newest version
// that the constraint allows and that has a package for Platform. It uses a package in Dir, or else
// in Cache, if the package has a locked hash. Otherwise it downloads and verifies the package.
// terraform.io/builtin/terraform needs no work and must have no constraint.
//
// A failure of one provider does not stop the others. The error joins the failures in the order of
// the providers. Each is a [*provider.Error] and wraps for example a [*LockedError], a
// [*lockfile.NotLockedError], [provider.ErrOffline] or an error of package [verify]. The result and
// its lock are valid beside an error: a provider that failed has [Selection.Err], and its old entry
// in the lock unless only hashes for other platforms failed.
func (in *Installer) Ensure(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, requirements, lock, false)
}

// Plan returns what Ensure would do, without downloading packages or writing files. The lock of the
// result lacks hashes that only packages tell. If [lockfile.File.Equal] says that it differs from
// lock, Ensure would change a version or the set of providers.
func (in *Installer) Plan(ctx context.Context, requirements map[addrs.Provider]addrs.ProviderConstraint, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, requirements, lock, true)
}

// check returns an error if the Installer is invalid.
func (in *Installer) check() error {
	switch {
	case in.Dir == nil:
		return errors.New("install: Installer.Dir is nil")
	case slices.Contains(in.LockPlatforms, addrs.Platform{}):
		return errors.New("install: Installer.LockPlatforms has an empty platform")
	}
	return nil
}
