package provider

import (
	"errors"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// What a caller branches on, with errors.Is. ErrNoVersion, ErrNoPlatform and ErrNoFile
// are kinds of ErrNotFound, so ask for them first where the difference matters.
var (
	// ErrNotFound: the source does not know what it was asked for.
	ErrNotFound = fault.ErrNotFound
	// ErrNoVersion: the provider has no such version, or none that a
	// constraint allows.
	ErrNoVersion = fault.ErrNoVersion
	// ErrNoPlatform: the version exists, but not for the platform.
	ErrNoPlatform = fault.Narrow("no package for this platform", fault.ErrNotFound)
	// ErrNoFile: the source describes the package, but the archive, the checksums
	// or the signature is not where it says.
	ErrNoFile = fault.Narrow("no such file", fault.ErrNotFound)
	// ErrProtocol: the package exists, but speaks none of the wanted plugin
	// protocols.
	ErrProtocol = errors.New("no supported plugin protocol")
	// ErrUnauthorized: the server wants credentials, or other ones (HTTP status 401
	// or 403). Object stores answer 403 also for a file that is not there.
	ErrUnauthorized = fault.ErrUnauthorized
	// ErrTooLarge: a document or a package exceeds its limit.
	ErrTooLarge = fault.ErrTooLarge
	// ErrInsecure: a step would leave https.
	ErrInsecure = fault.ErrInsecure
	// ErrChanged: the file on the server was replaced while it was fetched.
	ErrChanged = fault.ErrChanged
	// ErrOffline: the source would have to be asked, and must not be, or there is
	// none.
	ErrOffline = fault.ErrOffline
	// ErrUnpacked: the source holds the package as a directory, so there is
	// no archive to fetch.
	ErrUnpacked = errors.New("package is unpacked, there is no archive")
)

// Error is an operation about a provider that failed. What it wraps tells the kind of
// failure: one of the variables of this package, of package verify or of package disco, or
// what [failure.Error] says. A [failure.RequestError] in its chain has URL and status.
// [IsFault] tells whether another source, or a later attempt, may have an answer.
type Error = failure.Error
