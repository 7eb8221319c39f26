package install

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// Result is what [Installer.Ensure] has done, or what [Installer.Plan] says that it would.
type Result struct {
	// Selections has one element for each required provider, in their order.
	Selections []Selection `json:"selections"`

	// Lock is the updated lock file, never nil. For a version that stays it has the hashes
	// of the given lock file and those that were computed. For another version it has the
	// hashes that were computed or signed. Providers that are no longer required are
	// missing. As in OpenTofu, a required registry.opentofu.org/hashicorp provider that is
	// not locked takes over the version, but not the hashes, from registry.terraform.io.
	//
	// The package comment says which hashes there are for Installer.LockPlatforms.
	Lock *lockfile.File `json:"-"`
}

// Selection is what was decided and done about one provider.
type Selection struct {
	Provider   addrs.Provider           `json:"provider"`            // that is required
	Constraint addrs.ProviderConstraint `json:"constraint,omitzero"` // on its version
	Version    addrs.Version            `json:"version,omitzero"`    // chosen; zero: there is none to choose
	Platform   addrs.Platform           `json:"platform"`            // that it is installed for
	Locked     bool                     `json:"locked"`              // the version is that of the given lock file

	// From tells where the package was, or is in a plan.
	From Origin `json:"from,omitempty"`

	// Dir is the absolute path of the package, and Executable the path of its program. They
	// are empty if the package could not be installed, if it is built in, and in a plan if
	// it is not in Installer.Dir. For an override, Dir is as it was given, and Executable
	// is empty if there is no program yet.
	Dir        string `json:"dir,omitempty"`
	Executable string `json:"executable,omitempty"`

	// Package is the package at the source if it is From there, otherwise nil. Its JSON form
	// may have presigned URLs.
	Package *provider.Package `json:"package,omitempty"`

	// Fetched is the number of bytes that were downloaded to install it.
	Fetched int64 `json:"fetched,omitempty"`

	// Unlocked are the platforms in Installer.LockPlatforms, without Platform, whose hashes
	// the given lock file may lack. Ensure has added the hashes, except where Err says that
	// it could not.
	Unlocked []addrs.Platform `json:"unlocked,omitempty"`

	// Reports has a report for Platform, and one for each platform in LockPlatforms that was
	// hashed. It is nil for providers that are built in, overridden or not installed.
	Reports map[addrs.Platform]*verify.Report `json:"reports,omitempty"`

	// Warnings are the messages of the source to its users. They are safe to print.
	Warnings []string `json:"warnings,omitempty"`

	// Err says why the package is not installed, or why a platform is not locked.
	Err error `json:"-"`
}

// Origin says where a package was.
type Origin string

// The places where a package can be.
const (
	FromDir      Origin = "dir"      // in Installer.Dir already
	FromCache    Origin = "cache"    // in Installer.Cache
	FromSource   Origin = "source"   // at Installer.Source
	FromOverride Origin = "override" // in a directory of Installer.DevOverrides
	FromBuiltIn  Origin = "builtin"  // in the CLI itself
)

// LockedError says that the version in the lock file cannot be kept: the constraint does
// not allow it, or the source no longer has it. Installer.Upgrade chooses another one.
type LockedError struct {
	Provider   addrs.Provider           // that is locked
	Version    addrs.Version            // at this version
	Constraint addrs.ProviderConstraint // on the version

	// Err is the answer of the source, which wraps [provider.ErrNoVersion]. It is nil if
	// Constraint does not allow the version.
	Err error
}

// Unwrap returns Err.
func (e *LockedError) Unwrap() error { return e.Err }

// Error names the version, what is wrong with it, and what to do.
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
