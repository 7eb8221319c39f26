package provider

import (
	"errors"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// Kinds of errors, for errors.Is. ErrNoVersion, ErrNoPlatform and ErrNoFile are also
// ErrNotFound, so test for them first.
var (
	ErrNotFound     = fault.ErrNotFound  // the source does not know the provider
	ErrNoVersion    = fault.ErrNoVersion // no such version, or no allowed version
	ErrNoPlatform   = fault.Narrow("no package for this platform", fault.ErrNotFound)
	ErrNoFile       = fault.Narrow("no such file", fault.ErrNotFound) // a named archive, SHA256SUMS or signature is missing
	ErrProtocol     = errors.New("no supported plugin protocol")
	ErrUnauthorized = fault.ErrUnauthorized // HTTP status 401 or 403; object stores also answer 403 for a missing file
	ErrTooLarge     = fault.ErrTooLarge     // a document or an archive exceeds its limit
	ErrInsecure     = fault.ErrInsecure     // a URL or a redirect is not https
	ErrChanged      = fault.ErrChanged      // the file changed on the server during the transfer
	ErrOffline      = fault.ErrOffline      // a request is needed, but not allowed
	ErrUnpacked     = errors.New("package is unpacked and has no archive")
)

// Error is a failed operation on a provider; see [failure.Error]. [IsFault] reports whether
// another source or a later attempt may succeed.
type Error = failure.Error
