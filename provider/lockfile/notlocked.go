package lockfile

import (
	"fmt"

	"github.com/tofureg/tofureg/addrs"
)

// A NotLockedError means that a package has none of the hashes that a lock file has for its
// version. Often the version is not locked for the platform.
type NotLockedError struct {
	Provider addrs.Provider // of the package
	Version  addrs.Version  // of the package
	Platform addrs.Platform // of the package
	Err      error          // the refusal, for example verify.ErrNotAccepted
}

// Error returns the command that locks the version for the platform, and the refusal.
func (e *NotLockedError) Error() string {
	return fmt.Sprintf("the lock file has no hash of the package for %s; if it lacks this platform, \"tofu providers lock -platform=%s %s\" adds it: %v",
		e.Platform, e.Platform, e.Provider, e.Err)
}

// Unwrap returns the refusal.
func (e *NotLockedError) Unwrap() error { return e.Err }
