package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// Requirements are the required_providers of all modules of a configuration. The zero constraint allows every release.
type Requirements map[addrs.Provider]addrs.ProviderConstraint

// An Installer installs and locks providers. Once its fields are set, its methods may be called concurrently. For them,
// a nil lock is empty.
type Installer struct {
	Source provider.Source // if nil, providers must be locked, and installed in Dir or Cache, or fail with [failure.ErrOffline]

	Dir   *Dir // required by Ensure and Plan
	Cache *Dir // if not nil, packages are installed in this shared directory, then placed in Dir

	// TrustCache accepts a package in Cache unverified, and locks its h1, if the lock file has no hashes of the version
	// and [verify.Policy.Demands] is false. In the CLI it is plugin_cache_may_break_dependency_lock_file.
	TrustCache bool

	Copy bool // as in [Options], also for packages of Cache; existing links stay

	// Policy is for each provider. Locked hashes of the version replace its Accept; for LockPlatforms, see
	// [provider.HashOptions].Locked. With RequireSignature or Provenance each Ensure downloads the archive.
	Policy provider.Policies

	Platform  addrs.Platform           // if zero, that of this program
	Protocols addrs.ProviderConstraint // as in [provider.Need]

	// LockPlatforms are further platforms to lock. Hashes in a lock file have no platform: unless it has the h1 of as
	// many archives as there are platforms, Platform included, Ensure hashes all archives. After replacing a
	// platform, delete the entry.
	LockPlatforms []addrs.Platform

	// Stated lets a stated h1 replace downloads for LockPlatforms, as in [provider.HashOptions], unless the lock file
	// has hashes of the version. If false, a new entry has the stated h1 too, unless [verify.Policy.DropStated] is
	// set.
	Stated bool

	Upgrade bool // selects new versions instead of the locked ones

	// ReadOnly makes Ensure and Plan fail with [ErrReadOnly] before any request if the lock file lacks hashes of a
	// required provider, or has another provider. As with -lockfile=readonly of the CLIs, new constraints and more
	// hashes of a locked version are no error, but must not be saved. Lock and Upgrade must not be used.
	ReadOnly bool

	// DevOverrides are directories of packages under development. Their providers are not resolved, hashed or installed,
	// and keep their lock file entries.
	DevOverrides map[addrs.Provider]string

	Reattached []addrs.Provider // running already, as in TF_REATTACH_PROVIDERS; as DevOverrides, but without a directory

	// Approve, if not nil, is called once for each provider that is not overridden, reattached or built-in, when its
	// version is selected, before a package is downloaded or placed. Calls may be concurrent. From is empty for a package
	// that would be downloaded. An error fails the provider with a [failure.RefusedError].
	Approve func(ctx context.Context, s Selection) error

	Store provider.HashStore // if not nil, replaces downloads for LockPlatforms

	TempDir  string // for archives of LockPlatforms; if empty, [os.TempDir]
	Parallel int    // maximum number of packages in progress; if 0 or less, 32

	// Progress is as in [provider.DownloadOptions]. The last event of a provider is [progress.Failed] or, from Ensure,
	// [progress.Installed], except for overridden, reattached and built-in providers.
	Progress func(progress.Event)
}

const defaultParallel = 32

// Ensure installs the required providers and updates a copy of lock, which the caller saves: it gains hashes, and
// loses providers that are not required.
//
// Ensure keeps a locked version. Without one, or with Upgrade, it selects the newest allowed version that has a
// package for Platform. It uses a package in Dir, or else in Cache, with a locked h1, and then sends no request
// unless LockPlatforms need one. Otherwise it calls [Dir.Install] for Cache or, without one, Dir.
// terraform.io/builtin/terraform needs no work and must have no constraint.
//
// A failure does not stop other providers. The error joins all failures. Each wraps a [*failure.Error], and for
// example a [*LockedError], a [*lockfile.NotLockedError], [failure.ErrOffline] or an error of package [verify]. The
// result is never nil, and valid beside an error: a failed provider has [Selection].Err and its old entry; if only
// LockPlatforms failed, it has a new entry, perhaps with their signed or stated hashes.
func (in *Installer) Ensure(ctx context.Context, want Requirements, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, want, lock, installing)
}

// Plan returns what Ensure would do, as far as is known without downloading packages or changing their directories. Do
// not save its lock: it lacks hashes.
func (in *Installer) Plan(ctx context.Context, want Requirements, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, want, lock, planning)
}

// Lock selects versions as Ensure does, and records their hashes for LockPlatforms in a copy of lock. It ignores Dir,
// Cache, Platform, DevOverrides and Reattached. If LockPlatforms is empty, it locks the platforms that Source lists;
// network mirrors list none, which is an error.
//
// A new version must have an accepted package for each platform. If all locked hashes are h1, the archive for one of
// the platforms must have one of them.
//
// Result and error are as of Ensure, without paths, with a report for each provider and platform. The last events are a
// [progress.Hashed] for each locked package, and a [progress.Failed] for a provider that fails.
func (in *Installer) Lock(ctx context.Context, want Requirements, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, want, lock, locking)
}

// Result is the result of an [Installer].
type Result struct {
	Selections []Selection `json:"selections"` // for each required provider, sorted by provider

	// Lock is the updated copy, never nil, migrated by [lockfile.File.Migrate]. A version with locked hashes gains
	// only computed ones, any other also signed ones and [verify.Report.Stated]. Providers that are not required are
	// removed, except by [Installer.Lock].
	Lock *lockfile.File `json:"-"`
}

// Selection is the decision about one provider, and its result.
type Selection struct {
	// As required.
	Provider   addrs.Provider           `json:"provider"`
	Constraint addrs.ProviderConstraint `json:"constraint,omitzero"`
	Version    addrs.Version            `json:"version,omitzero"`  // zero if none was selected
	Platform   addrs.Platform           `json:"platform,omitzero"` // to install for; zero for Lock
	Locked     bool                     `json:"locked"`            // the given lock file has the version
	Held       []provider.Held          `json:"held,omitempty"`    // newer ones that would fit, newest first; of a locked version only with Upgrade

	From Origin `json:"from,omitempty"` // empty if Plan has not found it or Ensure not installed it

	// Dir and Executable are the absolute paths of the accepted package in Installer.Dir and of its program. They are set
	// together, also if Err says that a platform is not locked. For an override, Dir is as in DevOverrides, and
	// Executable may be empty.
	Dir        string `json:"dir,omitempty"`
	Executable string `json:"executable,omitempty"`

	Package *provider.Package `json:"package,omitempty"` // nil unless From is FromSource

	Fetched int64 `json:"fetched,omitempty"` // bytes downloaded to install it

	// Unlocked are the LockPlatforms whose hashes the given lock file may lack. Ensure has added them unless Err is set.
	Unlocked []addrs.Platform `json:"unlocked,omitempty"`

	Reports map[addrs.Platform]*verify.Report `json:"reports,omitempty"` // for Platform and each platform hashed for the lock file

	Failed map[addrs.Platform]error `json:"-"` // of platforms to lock, as in [provider.HashesError]; part of Err

	Warnings []string `json:"warnings,omitempty"` // of the source, safe to print

	Err error `json:"-"` // why the package is not installed or a platform is not locked, or nil
}

// Origin says where a package was found.
type Origin string

// The places, which are fields of the [Installer] of these names unless a comment says otherwise.
const (
	FromDir      Origin = "dir"
	FromCache    Origin = "cache"
	FromSource   Origin = "source"
	FromOverride Origin = "override" // see Installer.DevOverrides
	FromBuiltIn  Origin = "builtin"  // in the CLI

	FromReattached Origin = "reattached" // see Installer.Reattached
)

// ErrReadOnly is the error of [Installer.ReadOnly].
var ErrReadOnly = errors.New("the lock file must change")

// LockedError means that the locked version cannot be kept: set [Installer.Upgrade].
type LockedError struct {
	// In the lock file.
	Provider   addrs.Provider
	Version    addrs.Version
	Constraint addrs.ProviderConstraint // as required

	Err error // wraps [failure.ErrNoVersion] if the source lacks the version; nil if Constraint does not allow it
}

func (e *LockedError) Unwrap() error { return e.Err }

func (e *LockedError) Error() string {
	if e.Err != nil {
		newest := ""
		if why, ok := errors.AsType[*provider.UnavailableError](e.Err); ok && !why.Newest.IsZero() {
			newest = fmt.Sprintf(", the newest is %s", why.Newest)
		}
		return fmt.Sprintf("the locked version %s is no longer available%s; upgrade to choose another one", e.Version, newest)
	}
	want := "any release"
	if !e.Constraint.IsZero() {
		want = fmt.Sprintf("%q", e.Constraint.String())
	}
	return fmt.Sprintf("the locked version %s does not match %s; upgrade to choose another one", e.Version, want)
}
