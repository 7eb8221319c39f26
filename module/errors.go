package module

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
)

// The kinds of errors, for errors.Is. ErrNoVersion and ErrNoSubdir are kinds of ErrNotFound,
// and ErrLink is a kind of ErrArchive: test for them first if the difference matters.
var (
	// ErrNotFound: the source does not know the module, or the location is empty.
	ErrNotFound = fault.ErrNotFound
	// ErrNoVersion: the module has no such version, or none that a constraint
	// allows.
	ErrNoVersion = fault.ErrNoVersion
	// ErrNoSubdir: the package has no such directory.
	ErrNoSubdir = fault.Narrow("no such directory in the package", fault.ErrNotFound)
	// ErrUnauthorized: the server refuses the request without credentials, or with the
	// ones that were sent.
	ErrUnauthorized = fault.ErrUnauthorized
	// ErrTooLarge: a document or a package exceeds its limit.
	ErrTooLarge = fault.ErrTooLarge
	// ErrInsecure: a step would leave https.
	ErrInsecure = fault.ErrInsecure
	// ErrChanged: the file on the server was replaced while it was fetched.
	ErrChanged = fault.ErrChanged
	// ErrArchive: the package is damaged, contains an entry that is refused, or is not
	// an archive.
	ErrArchive = fault.ErrArchive
	// ErrLink: the package contains a symbolic link. Options.SkipLinks leaves links out.
	ErrLink = archive.ErrLink
	// ErrLocal: the location is on this machine. Options.AllowLocal permits it if the
	// caller names it, and never if a server does.
	ErrLocal = errors.New("location on this machine")
	// ErrOccupied: the directory for the package is not empty, or not a directory.
	// Options.Replace permits a directory or a link.
	ErrOccupied = errors.New("not an empty directory")
)

// Error is a job that failed, most often at a request. It is the same type as
// provider.Error, so that one errors.As serves for both.
type Error = failure.Error

// UnsupportedError means that the options permit no way to fetch from a location.
type UnsupportedError struct {
	Kind    Kind     // the kind of the location
	Getter  string   // the getter of the location if Kind is KindOther
	Options []string // the fields of Options that could permit it
}

// Error names the kind and the options.
func (e *UnsupportedError) Error() string {
	name := string(e.Kind)
	if e.Kind == KindOther {
		name = fmt.Sprintf("%.100q", e.Getter)
	}
	return fmt.Sprintf("a location of kind %s needs Options.%s", name, strings.Join(e.Options, " or Options."))
}

// failed makes an *Error of err, if it is not one yet.
func failed(op, subject string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Op: op, Subject: subject, Err: err}
}
