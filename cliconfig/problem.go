package cliconfig

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/tofureg/tofureg/internal/fault"
)

// The limits of a configuration. Beyond a limit, a Problem wraps failure.ErrTooLarge.
const (
	maxFile    = 1 << 20 // bytes in a file
	maxTotal   = 8 << 20 // bytes in all files
	maxWords   = 100_000 // names, values and punctuation in all files; an empty object takes 300 bytes of memory
	maxDepth   = 64      // levels of nested blocks and lists
	maxFiles   = 1000    // files in the configuration directory
	maxMethods = 1000    // installation methods; each provider is searched in all of them
)

// maxProblems is the maximum number of listed problems. The first error is always listed.
const maxProblems = 100

// A Place is the place of a setting. The zero Place means the default.
type Place struct {
	File     string `json:"file,omitempty"`     // file, directory or program
	Line     int    `json:"line,omitempty"`     // from 1, or 0 for the whole file
	Column   int    `json:"column,omitempty"`   // in bytes, from 1
	Variable string `json:"variable,omitempty"` // environment variable; then File is empty
}

// String returns FILE:LINE:COLUMN, FILE if Line is 0, "environment variable NAME", or "default".
func (p Place) String() string {
	switch {
	case p.Variable != "":
		return "environment variable " + printable(p.Variable)
	case p.File == "" && p.Line == 0:
		return "default"
	case p.Line == 0:
		return printable(p.File)
	}
	return fmt.Sprintf("%s:%d:%d", printable(p.File), p.Line, p.Column)
}

// printable quotes a name with control characters.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// A Problem is an error or a warning about a configuration.
type Problem struct {
	Place
	Warning bool   // does not make Load fail
	Message string // one line of printable characters
	Err     error  // the cause, or nil
}

func (p *Problem) Error() string {
	if p.Place == (Place{}) {
		return p.Message
	}
	return p.Place.String() + ": " + p.Message
}

func (p *Problem) Unwrap() error { return p.Err }

// An Error is the error of [Load].
type Error struct {
	Problems []*Problem // the first 100 errors and warnings, and the first error
}

func (e *Error) Error() string {
	lines := []string{"CLI configuration:"}
	for _, err := range e.Unwrap() {
		lines = append(lines, err.Error())
	}
	if len(lines) == 2 {
		return strings.Join(lines, " ")
	}
	return strings.Join(lines, "\n\t")
}

// Unwrap returns the errors without the warnings.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, p := range e.Problems {
		if !p.Warning {
			errs = append(errs, p)
		}
	}
	return errs
}

// problems is a list of errors and warnings.
type problems struct {
	list   []*Problem
	errors int
}

// add adds p to the list. Beyond maxProblems, it adds only the first error.
func (ps *problems) add(p *Problem) {
	if len(ps.list) < maxProblems || !p.Warning && ps.errors == 0 {
		ps.list = append(ps.list, p)
	}
	if !p.Warning {
		ps.errors++
	}
}

// fail adds an error of another package.
func (ps *problems) fail(at Place, err error) {
	ps.add(&Problem{Place: at, Message: oneLine(err), Err: err})
}

// warn adds a problem that does not make Load fail. The error may be nil.
func (ps *problems) warn(at Place, message string, err error) {
	if err != nil {
		message += ": " + oneLine(err)
	}
	ps.add(&Problem{Place: at, Warning: true, Message: message, Err: err})
}

// quote returns a word of a file for a message, shortened and without parts of URLs that
// can be secret.
func quote(s string) string { return strconv.Quote(fault.Shown(s, 100)) }

// oneLine returns the text of an error in one line, with a quoted form of control characters.
func oneLine(err error) string {
	return printable(strings.Join(strings.Fields(err.Error()), " "))
}
