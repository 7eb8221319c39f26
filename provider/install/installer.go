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

// Requirements are the providers that a configuration requires. The zero constraint allows every release.
type Requirements map[addrs.Provider]addrs.ProviderConstraint

// An Installer installs providers and updates the lock file. Once its fields are set, its methods may be called
// concurrently.
type Installer struct {
	// Source provides packages. If nil, the locked versions must be in Dir or Cache, or fail with [failure.ErrOffline].
	Source provider.Source

	Dir *Dir // to install in; Ensure and Plan require it

	// Cache, if not nil, is shared with other projects. Packages are installed there, then placed in Dir.
	Cache *Dir

	// TrustCache accepts a package in Cache unverified if the lock file has no hashes of the selected version, and
	// [verify.Policy.Demands] is false for Policy. The lock file gains its h1. The CLI's setting is
	// plugin_cache_may_break_dependency_lock_file.
	TrustCache bool

	// Copy copies packages of Cache and unpacked packages of Source into Dir; existing links stay. If false, Dir gets
	// symbolic links if the system permits.
	Copy bool

	// Policy returns the policy for a provider. Locked hashes of the selected version replace its Accept; for
	// LockPlatforms, see [provider.HashOptions].Locked. With RequireSignature or Provenance each call of Ensure
	// downloads the archive.
	Policy provider.Policies

	Platform  addrs.Platform           // to install for; if zero, that of this program
	Protocols addrs.ProviderConstraint // as in [provider.Need]

	// LockPlatforms are further platforms whose hashes the lock file should have.
	//
	// A lock file does not say which platform a hash is for. So Ensure counts: if it has an h1 for as many archives as
	// there are platforms, Platform included, no archive is hashed, otherwise all are. After replacing one platform by
	// another, delete the entry.
	LockPlatforms []addrs.Platform

	// Stated lets an h1 in [verify.Report.Stated] replace the download for a platform of LockPlatforms, at
	// registry.opentofu.org only, unless the lock file has hashes of the version. If false, a new entry has these h1
	// beside computed ones, unless [verify.Policy.DropStated] is set.
	Stated bool

	Upgrade bool // selects new versions instead of the locked ones

	// ReadOnly makes Ensure and Plan fail with [ErrReadOnly] before they ask for anything, unless the lock file has hashes
	// of a version of each required provider, and no other provider. As with -lockfile=readonly of the CLIs, new
	// constraints and more hashes of a locked version are no error: do not save [Result].Lock. A locked version that the
	// constraint does not allow is a [*LockedError]. Lock and Upgrade must not be used.
	ReadOnly bool

	// DevOverrides are directories with packages under development. Their providers are not resolved, hashed or
	// installed, and keep their entries in the lock file.
	DevOverrides map[addrs.Provider]string

	// Reattached are providers that run already, as TF_REATTACH_PROVIDERS lists them. They are treated like those in
	// DevOverrides, but have no directory.
	Reattached []addrs.Provider

	// Approve, if not nil, is called once for each provider when its version is selected, before a package is downloaded
	// or placed, also for locked and cached ones, but not for overridden, reattached and built-in providers. Calls may
	// be concurrent. From is empty for a package that would be downloaded. If Approve returns an error, the provider
	// fails with a [failure.RefusedError].
	Approve func(ctx context.Context, s Selection) error

	Store provider.HashStore // if not nil, stores hashes of archives, which replace downloads for LockPlatforms

	TempDir  string // for archives of LockPlatforms; if empty, [os.TempDir]
	Parallel int    // maximum number of packages in progress; if 0 or less, 32

	// Progress, if not nil, is called for each step. Calls never overlap. The last event of a provider is
	// [progress.Installed], also for a reused package, or [progress.Failed]. After Plan, and of overridden and built-in
	// providers, there is only progress.Failed.
	Progress func(progress.Event)
}

const defaultParallel = 32

// Ensure installs the required providers and returns the selections with an updated copy of lock, which the caller
// saves. A nil lock is empty.
//
// Ensure keeps a locked version. Without one, or with Upgrade, it selects the newest version that the constraint allows
// and that has a package for Platform. It uses a package in Dir, or else in Cache, with a locked h1. Otherwise it calls
// [Dir.Install] for Cache or, without one, Dir. terraform.io/builtin/terraform needs no work and must have no
// constraint.
//
// A failure of one provider does not stop the others. The error joins the failures. Each wraps a [*failure.Error], and
// for example a [*LockedError], a [*lockfile.NotLockedError], [failure.ErrOffline] or an error of package [verify]. The
// result is valid beside an error: a provider that failed has [Selection].Err and keeps its old entry. If only platforms
// of LockPlatforms failed, it has a new entry, perhaps with signed or stated hashes of them.
func (in *Installer) Ensure(ctx context.Context, want Requirements, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, want, lock, installing)
}

// Plan returns what Ensure would do, as far as is known without downloading packages or changing their directories. Do
// not save its lock: it lacks hashes.
func (in *Installer) Plan(ctx context.Context, want Requirements, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, want, lock, planning)
}

// Lock selects versions as Ensure does, and records the hashes of their packages for LockPlatforms in a copy of lock;
// nil is empty. It installs nothing, ignores Dir, Cache, Platform, DevOverrides and Reattached, and keeps the entries of
// other providers. If LockPlatforms is empty, it locks the platforms that Source lists; network mirrors list none, which
// is an error.
//
// A new version must have a package for each platform that the policy accepts, and its entry gets what
// [verify.Report.Recordable] returns. If lock has hashes of the selected version, packages are judged as with
// [provider.HashOptions].Locked, and the entry gains computed hashes only. If the locked hashes are all h1, the archive
// for one of the platforms must have one of them.
//
// The result, also beside an error, is like that of Ensure, without paths, with a report for each provider and platform.
// The last events are a [progress.Hashed] for each locked package, and a [progress.Failed] for a provider that fails.
func (in *Installer) Lock(ctx context.Context, want Requirements, lock *lockfile.File) (*Result, error) {
	return in.run(ctx, want, lock, locking)
}

// Result is the result of [Installer.Ensure], [Installer.Plan] or [Installer.Lock].
type Result struct {
	Selections []Selection `json:"selections"` // for each required provider, sorted by provider

	// Lock is the updated lock file, never nil: a copy of the given one, migrated by [lockfile.File.Migrate]. A version
	// with locked hashes gains only computed ones, another also signed ones and [verify.Report.Stated]. Providers that
	// are not required are removed, except by [Installer.Lock].
	Lock *lockfile.File `json:"-"`
}

// Selection is the decision about one provider, and its result.
type Selection struct {
	Provider   addrs.Provider           `json:"provider"`            // as required
	Constraint addrs.ProviderConstraint `json:"constraint,omitzero"` // as required
	Version    addrs.Version            `json:"version,omitzero"`    // zero if none was selected
	Platform   addrs.Platform           `json:"platform,omitzero"`   // the platform to install for; zero for Lock
	Locked     bool                     `json:"locked"`              // the given lock file has the version
	Held       []provider.Held          `json:"held,omitempty"`      // newer ones that would fit but are held back, newest first; of a locked version only with Upgrade

	From Origin `json:"from,omitempty"` // empty if Plan has not found it, or Ensure has not installed it

	// Dir is the absolute path of the package, Executable that of its program. They are set once an accepted package
	// with a program is in Installer.Dir, also if Err then says that a platform is not locked. For an override, Dir is
	// the path in DevOverrides, and Executable may be empty.
	Dir        string `json:"dir,omitempty"`
	Executable string `json:"executable,omitempty"`

	Package *provider.Package `json:"package,omitempty"` // at the source; nil unless From is FromSource

	Fetched int64 `json:"fetched,omitempty"` // bytes downloaded to install the package

	// Unlocked are the platforms in LockPlatforms whose hashes the given lock file may lack. Ensure has added them
	// unless Err is set.
	Unlocked []addrs.Platform `json:"unlocked,omitempty"`

	Reports map[addrs.Platform]*verify.Report `json:"reports,omitempty"` // for Platform, and for each platform hashed for the lock file

	Failed map[addrs.Platform]error `json:"-"` // why platforms have no report, as in [provider.HashesError]; part of Err

	Warnings []string `json:"warnings,omitempty"` // of the source, safe to print

	Err error `json:"-"` // why the package is not installed or a platform is not locked, or nil
}

// Origin says where a package was found.
type Origin string

const (
	FromDir      Origin = "dir"      // in Installer.Dir
	FromCache    Origin = "cache"    // in Installer.Cache
	FromSource   Origin = "source"   // at Installer.Source
	FromOverride Origin = "override" // in a directory of Installer.DevOverrides
	FromBuiltIn  Origin = "builtin"  // in the CLI itself

	FromReattached Origin = "reattached" // a running process, see Installer.Reattached
)

// ErrReadOnly means that the lock file lacks a required provider, or has another one, with [Installer.ReadOnly].
var ErrReadOnly = errors.New("the lock file must change")

// LockedError means that the version in the lock file cannot be kept. With [Installer.Upgrade], another is selected.
type LockedError struct {
	Provider   addrs.Provider           // locked
	Version    addrs.Version            // locked
	Constraint addrs.ProviderConstraint // as required

	// Err wraps [failure.ErrNoVersion] if the source does not have the version. It is nil if Constraint does not allow
	// it.
	Err error
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
