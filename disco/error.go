package disco

import (
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// Errors may wrap these values, which package [github.com/tofureg/tofureg/provider] exports too.
var (
	// ErrUnauthorized means that the host requires or has refused a token (status 401, 403).
	ErrUnauthorized = fault.ErrUnauthorized
	// ErrInsecure means that a URL is http and AllowHTTP of the transport is not set.
	ErrInsecure = fault.ErrInsecure
)

// failed returns the error of Discover.
func failed(host svchost.Hostname, err error) error {
	return &failure.Error{Op: "discover services of", Subject: host.Display(), Err: err}
}
