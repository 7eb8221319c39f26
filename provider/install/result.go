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

	// From tells where the package was, or in a plan is.
	From Origin `json:"from,omitempty"`

	// Dir is the absolute path of the package, and Executable that of the program in it.
	// They are empty if the package could not be installed, in a plan if it is not in
	// Installer.Dir, and for what is built in. An override's Dir is as it was given, and
	// its Executable is empty if there is none yet.
	Dir        string `json:"dir,omitempty"`
	Executable string `json:"executable,omitempty"`

	// Package is what the source says of a package that is From it; otherwise nil. Its
	// JSON form may have presigned URLs.
	Package *provider.Package `json:"package,omitempty"`

	// Fetched is the number of bytes that were downloaded to install it.
	Fetched int64 `json:"fetched,omitempty"`

	// Unlocked are those of Installer.LockPlatforms, without Platform, if the given lock
	// file is not known to have their hashes. Ensure has added these, unless Err tells of
	// one that it could not.
	Unlocked []addrs.Platform `json:"unlocked,omitempty"`

	// Reports tells how far the packages are to be trusted: that for Platform, and for
	// those of LockPlatforms that were worked on. What is built in or overridden has none,
	// nor has what could not be installed.
	Reports map[addrs.Platform]*verify.Report `json:"reports,omitempty"`

	// Warnings are the words of the source for its users, safe to print.
	Warnings []string `json:"warnings,omitempty"`

	// Err is why there is no package, or why not all platforms could be locked.
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
