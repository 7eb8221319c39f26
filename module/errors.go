package module

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
)

// ErrNoSubdir also matches [failure.ErrNotFound], and ErrLink [failure.ErrArchive].
var (
	ErrNoSubdir = fault.Narrow("no such directory in the package", failure.ErrNotFound) // or several match a pattern
	ErrLink     = archive.ErrLink                                                       // for a symbolic link, see [Options.SkipLinks]
	ErrLocal    = errors.New("location on this machine")                                // see [Options.AllowLocal]
	ErrOccupied = errors.New("not an empty directory")                                  // see [Options.Replace]
)

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
	text := fmt.Sprintf("a location of kind %s needs Options.%s", name, strings.Join(e.Options, " or Options."))
	if e.Kind == KindMercurial {
		text += "; or publish the module in a registry, as an archive or in a git repository"
	}
	return text
}
