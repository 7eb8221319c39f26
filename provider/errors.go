package provider

import (
	"errors"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// ErrNoVersion, ErrNoPlatform and ErrNoFile are also ErrNotFound, so test for them
// first.
var (
	// ErrNotFound means that the source does not know the provider.
	ErrNotFound = failure.ErrNotFound
	// ErrNoVersion means that the version does not exist, or no version is allowed.
	ErrNoVersion = failure.ErrNoVersion
	// ErrNoPlatform means that the version has no package for the platform.
	ErrNoPlatform = fault.Narrow("no package for this platform", failure.ErrNotFound)
	// ErrNoFile means that a named archive, SHA256SUMS document or signature is missing.
	ErrNoFile = fault.Narrow("no such file", failure.ErrNotFound)
	// ErrProtocol means that no plugin protocol of the package is supported.
	ErrProtocol = errors.New("no supported plugin protocol")
	// ErrUnauthorized means HTTP status 401 or 403, at object stores perhaps a missing file.
	ErrUnauthorized = failure.ErrUnauthorized
	// ErrInsecure means that a URL or a redirect is not https.
	ErrInsecure = failure.ErrInsecure
	// ErrChanged means that the file changed during the transfer. [Receive] tries twice.
	ErrChanged = failure.ErrChanged
	// ErrOffline means that a request is needed, but a
	// [github.com/tofureg/tofureg/transport/doccache.Transport] is Offline, or an
	// [github.com/tofureg/tofureg/provider/install.Installer] has no Source.
	ErrOffline = failure.ErrOffline
	// ErrUnpacked means that the source has the package unpacked, without an archive.
	ErrUnpacked = errors.New("package is unpacked and has no archive")
)

// Error is a failed operation on a provider.
type Error = failure.Error
