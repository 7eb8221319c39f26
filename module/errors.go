package module

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
)

// ErrNoVersion and ErrNoSubdir also match ErrNotFound, and ErrLink also matches ErrArchive.
var (
	// ErrNotFound means that the module or location does not exist.
	ErrNotFound = failure.ErrNotFound
	// ErrNoVersion means that the version does not exist, or none is allowed.
	ErrNoVersion = failure.ErrNoVersion
	// ErrNoSubdir means that the package has no such directory, or several for a pattern.
	ErrNoSubdir = fault.Narrow("no such directory in the package", failure.ErrNotFound)
	// ErrUnauthorized means that credentials are missing or refused.
	ErrUnauthorized = failure.ErrUnauthorized
	// ErrInsecure means that a request would not use https, or git neither https nor SSH.
	ErrInsecure = failure.ErrInsecure
	// ErrChanged means that the file changed during the transfer. [Download] tries twice.
	ErrChanged = failure.ErrChanged
	// ErrArchive means that the package is damaged, not an archive, or has a refused entry.
	ErrArchive = failure.ErrArchive
	// ErrLink means that the package has a symbolic link, see [Options.SkipLinks].
	ErrLink = archive.ErrLink
	// ErrLocal means that the location is on this machine, see [Options.AllowLocal].
	ErrLocal = errors.New("location on this machine")
	// ErrOccupied means that the target is not an empty directory.
	ErrOccupied = errors.New("not an empty directory")
)

// Error is a failed operation.
type Error = failure.Error

// UnsupportedError means that [Options] permit no method for a location.
type UnsupportedError struct {
	Kind    Kind     // of the location
	Getter  string   // of the location
	Options []string // what would permit it, such as Git or Fetcher["s3"]
}

func (e *UnsupportedError) Error() string {
	name := string(e.Kind)
	if e.Kind == KindOther {
		name = fmt.Sprintf("%.100q", e.Getter)
	}
	return fmt.Sprintf("a location of kind %s needs Options.%s", name, strings.Join(e.Options, " or Options."))
}
