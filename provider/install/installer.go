package install

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
)

// Installer is "init" for programs.
type Installer struct {
	Source provider.Source // nil: offline, only what is locked and in Cache or Dir
	Dir    *Dir            // where the packages are to be; required
	Cache  *Dir            // shared with other projects; nil: none
	Link   LinkMode        // from Cache to Dir

	// Policy decides about the packages of a provider; nil: the zero Policy for all.
	// Where the lock covers a version its Accept is replaced by that of the lock.
	Policy func(addrs.Provider) verify.Policy

	Platform      addrs.Platform            // zero: of this program
	LockPlatforms []addrs.Platform          // hashes for these go into the lock too
	Upgrade       bool                      // choose anew instead of keeping what is locked
	DevOverrides  map[addrs.Provider]string // directories; never resolved, hashed or locked

	Hashes   provider.HashStore // hashes computed before; nil: none
	Parallel int                // packages at once; 0: 32
	Progress func(provider.Event)
}

// Ensure installs what requirements ask for. The result is valid beside an error.
func (in *Installer) Ensure(ctx context.Context, requirements map[addrs.Provider]addrs.Constraint, lock *lockfile.File) (*Result, error) {
	panic("stub")
}

// Plan tells what Ensure would do, without writing anything.
func (in *Installer) Plan(ctx context.Context, requirements map[addrs.Provider]addrs.Constraint, lock *lockfile.File) (*Result, error) {
	panic("stub")
}

// Result of Ensure and Plan.
type Result struct {
	Selections []Selection    // by provider
	Lock       *lockfile.File // updated copy; never nil
}

// Selection is what was decided and done about one provider.
type Selection struct {
	Provider   addrs.Provider
	Constraint addrs.Constraint
	Version    addrs.Version
	Locked     bool   // the version is that of the lock
	Override   bool   // Dir is a development override
	Dir        string // of the package; empty after an error or in a plan where it is not there yet
	Executable string
	From       string // "dir", "cache", "source", "override", …
	Reports    map[addrs.Platform]*verify.Report
	Err        error
}
