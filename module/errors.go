package module

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
)

// What a caller branches on, with errors.Is. ErrNoVersion and ErrNoSubdir are kinds
// of ErrNotFound, and ErrLink is a kind of ErrArchive, so ask for them first where
// the difference matters.
var (
	// ErrNotFound: the source does not know the module, or there is nothing at
	// the location.
	ErrNotFound = fault.ErrNotFound
	// ErrNoVersion: the module has no such version, or none that a constraint
	// allows.
	ErrNoVersion = fault.ErrNoVersion
	// ErrNoSubdir: the package has no such directory.
	ErrNoSubdir = fault.Narrow("no such directory in the package", fault.ErrNotFound)
	// ErrUnauthorized: the server wants credentials, or other ones.
	ErrUnauthorized = fault.ErrUnauthorized
	// ErrTooLarge: a document or a package exceeds its limit.
	ErrTooLarge = fault.ErrTooLarge
	// ErrInsecure: a step would leave https.
	ErrInsecure = fault.ErrInsecure
	// ErrChanged: the file on the server was replaced while it was fetched.
	ErrChanged = fault.ErrChanged
	// ErrArchive: the package is damaged, holds what must not be unpacked, or
	// is no archive at all.
	ErrArchive = fault.ErrArchive
	// ErrLink: the package holds a symbolic link. Options.SkipLinks leaves
	// links out.
	ErrLink = archive.ErrLink
	// ErrLocal: the location is on this machine. Options.AllowLocal permits it if the
	// caller names it, and never if a server does.
	ErrLocal = errors.New("location on this machine")
	// ErrOccupied: there is something at the directory for the package, and it
	// is not an empty directory. Options.Replace permits more.
	ErrOccupied = errors.New("not an empty directory")
)

// Error is a job that failed, most often at a request. It is the same type as
// [provider.Error], so that one errors.As serves for both.
type Error = provider.Error

// UnsupportedError says that a package cannot be fetched by the means that the
// options allow.
type UnsupportedError struct {
	Kind    Kind     // of the location
	Getter  string   // for KindOther
	Options []string // fields of Options, each of which could allow it
}

// Error names the kind and the options.
func (e *UnsupportedError) Error() string {
	name := string(e.Kind)
	if e.Kind == KindOther {
		name = fmt.Sprintf("%.100q", e.Getter)
	}
	return fmt.Sprintf("a location of kind %s needs Options.%s", name, strings.Join(e.Options, " or Options."))
}

// failure makes an *Error of err, if it is not one yet.
func failure(op, subject string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Op: op, Subject: subject, Err: err}
}
