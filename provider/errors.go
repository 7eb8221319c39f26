package provider

import (
	"errors"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// ErrNoVersion, ErrNoPlatform, ErrNoFile and ErrExcluded also match ErrNotFound, so test for them first.
var (
	ErrNotFound     = failure.ErrNotFound                                                         // the source does not know the provider
	ErrNoVersion    = failure.ErrNoVersion                                                        // the version does not exist, or none is allowed
	ErrNoPlatform   = fault.Narrow("no package for this platform", failure.ErrNotFound)           // the version has no package for the platform
	ErrNoFile       = fault.Narrow("no such file", failure.ErrNotFound)                           // an archive, SHA256SUMS document or signature is missing
	ErrExcluded     = fault.Narrow("excluded by the patterns of the source", failure.ErrNotFound) // the patterns of a [NamedSource] exclude the provider
	ErrProtocol     = errors.New("no supported plugin protocol")                                  // of the package
	ErrUnauthorized = failure.ErrUnauthorized                                                     // HTTP status 401 or 403, at object stores perhaps a missing file
	ErrInsecure     = failure.ErrInsecure                                                         // a URL or a redirect is not https
	ErrChanged      = failure.ErrChanged                                                          // the file changed during the transfer. [Receive] tries twice
	ErrOffline      = failure.ErrOffline                                                          // a request is needed, but not allowed
	ErrUnpacked     = errors.New("package is unpacked and has no archive")                        // at the source
)

// Error is a failed operation on a provider.
type Error = failure.Error
