package provider

import (
	"errors"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// ErrNoVersion, ErrNoPlatform, ErrNoFile and ErrExcluded also match ErrNotFound, so test for them first.
var (
	// The source does not know the provider.
	ErrNotFound = failure.ErrNotFound

	// The version does not exist, or none is allowed.
	ErrNoVersion = failure.ErrNoVersion

	// The version has no package for the platform.
	ErrNoPlatform = fault.Narrow("no package for this platform", failure.ErrNotFound)

	// An archive, SHA256SUMS document or signature that is named is missing.
	ErrNoFile = fault.Narrow("no such file", failure.ErrNotFound)

	// The patterns of a [NamedSource] exclude the provider.
	ErrExcluded = fault.Narrow("excluded by the patterns of the source", failure.ErrNotFound)

	// No plugin protocol of the package is supported.
	ErrProtocol = errors.New("no supported plugin protocol")

	// HTTP status 401 or 403, at object stores perhaps a missing file.
	ErrUnauthorized = failure.ErrUnauthorized

	// A URL or a redirect is not https.
	ErrInsecure = failure.ErrInsecure

	// The file changed during the transfer. [Receive] tries twice.
	ErrChanged = failure.ErrChanged

	// A request is needed, but a [github.com/tofureg/tofureg/transport/doccache.Transport] is Offline, or an
	// [github.com/tofureg/tofureg/provider/install.Installer] has no Source.
	ErrOffline = failure.ErrOffline

	// The source has the package unpacked, without an archive.
	ErrUnpacked = errors.New("package is unpacked and has no archive")
)

// Error is a failed operation on a provider.
type Error = failure.Error
