package install

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// Result is the result of [Installer.Ensure] or [Installer.Plan].
type Result struct {
	// Selections has one element for each required provider, sorted by provider.
	Selections []Selection `json:"selections"`

	// Lock is the updated lock file, never nil. A version that the given lock file covers gains
	// computed hashes only, another version also signed hashes and those of [verify.Report.Stated], as
	// in the CLI. Providers that are not required are
	// removed. The given lock file is migrated first; see [lockfile.File.Migrate].
	Lock *lockfile.File `json:"-"`
}

// Selection is the decision about one provider, and its result.
type Selection struct {
	Provider   addrs.Provider           `json:"provider"`            // as required
	Constraint addrs.ProviderConstraint `json:"constraint,omitzero"` // as required
	Version    addrs.Version            `json:"version,omitzero"`    // zero if no version was selected
	Platform   addrs.Platform           `json:"platform"`            // the platform to install for
	Locked     bool                     `json:"locked"`              // the given lock file has the version

	// From says where the package was found.
	From Origin `json:"from,omitempty"`

	// Dir is the absolute path of the package, and Executable the path of its program. They are
	// empty if there is no package in Installer.Dir. For an override, Dir is the path in
	// DevOverrides, and Executable may be empty.
	Dir        string `json:"dir,omitempty"`
	Executable string `json:"executable,omitempty"`

	// Package is the package at the source if From is FromSource, otherwise nil. Its JSON form may
	// have presigned URLs.
	Package *provider.Package `json:"package,omitempty"`

	// Fetched is the number of bytes that were downloaded to install the package.
	Fetched int64 `json:"fetched,omitempty"`

	// Unlocked are the platforms in Installer.LockPlatforms, without Platform, whose hashes the
	// given lock file may lack. Ensure has added the hashes unless Err is set.
	Unlocked []addrs.Platform `json:"unlocked,omitempty"`

	// Reports has a report for Platform and each platform in LockPlatforms that was hashed.
	Reports map[addrs.Platform]*verify.Report `json:"reports,omitempty"`

	// Warnings are messages of the source to its users. They are safe to print.
	Warnings []string `json:"warnings,omitempty"`

	// Err is why a package is not installed or a platform is not locked.
	Err error `json:"-"`
}

// Origin says where a package was found.
type Origin string

// The origins of packages.
const (
	FromDir      Origin = "dir"      // in Installer.Dir
	FromCache    Origin = "cache"    // in Installer.Cache
	FromSource   Origin = "source"   // at Installer.Source
	FromOverride Origin = "override" // in a directory of Installer.DevOverrides
	FromBuiltIn  Origin = "builtin"  // in the CLI itself
)

// LockedError says that the version in the lock file cannot be kept. Set Installer.Upgrade to
// select another version.
type LockedError struct {
	Provider   addrs.Provider           // the locked provider
	Version    addrs.Version            // the locked version
	Constraint addrs.ProviderConstraint // on the version

	// Err wraps [provider.ErrNoVersion] if the source does not have the version. It is nil
	// if Constraint does not allow the version.
	Err error
}

// Unwrap returns Err.
func (e *LockedError) Unwrap() error { return e.Err }

// Error names version, cause and remedy.
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
