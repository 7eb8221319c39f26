package disco

import (
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// Causes that the errors of this package may wrap. They are the same values as
// those of these names in package provider.
var (
	// ErrUnauthorized means that the host wants a token, or another one
	// (status 401 or 403).
	ErrUnauthorized = fault.ErrUnauthorized
	// ErrInsecure means that a URL is http and that AllowHTTP of [transport.Client] is not
	// set.
	ErrInsecure = fault.ErrInsecure
	// ErrTooLarge means that a document exceeds a limit.
	ErrTooLarge = fault.ErrTooLarge
)

// failed makes the error of a discovery.
func failed(host svchost.Hostname, err error) error {
	return &failure.Error{Op: "discover services of", Subject: host.Display(), Err: err}
}
