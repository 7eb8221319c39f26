package cliconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tofureg/tofureg/internal/fault"
)

// ErrTooLarge: a file has more than [MaxFile] bytes, or the configuration directory has
// more than [MaxFiles] files. It is the cause of a [*Problem].
var ErrTooLarge = fault.ErrTooLarge

// What is accepted of a configuration.
const (
	MaxFile  = 1 << 20 // bytes of one file
	MaxFiles = 1000    // files in the configuration directory
)

// maxProblems is the number of problems that are listed, apart from the first error.
const maxProblems = 100

// A Place is where a setting stands. The zero Place means nowhere: the setting has its
// default.
type Place struct {
	File     string `json:"file,omitempty"`     // path of a file, or of a program or directory that was found
	Line     int    `json:"line,omitempty"`     // in the file, from 1; 0: the file as a whole
	Column   int    `json:"column,omitempty"`   // in bytes, from 1
	Variable string `json:"variable,omitempty"` // name of an environment variable; File is empty then
}

// String returns FILE:LINE:COLUMN, the name of the variable, or "default".
func (p Place) String() string {
	switch {
	case p.Variable != "":
		return "environment variable " + printable(p.Variable)
	case p.File == "":
		return "default"
	case p.Line == 0:
		return printable(p.File)
	}
	return fmt.Sprintf("%s:%d:%d", printable(p.File), p.Line, p.Column)
}

// printable quotes a name that holds characters a terminal may act on.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// A Problem is one thing that is wrong with a configuration, and where. It repeats no
// values that may be secret.
type Problem struct {
	Place
	Warning bool   // the configuration can be used nevertheless
	Message string // what is wrong, in one line of printable characters
	Err     error  // the cause, such as an *addrs.ParseError or a *fs.PathError; may be nil
}

// Error returns the place and the message.
func (p *Problem) Error() string {
	if p.Place == (Place{}) {
		return p.Message
	}
	return p.Place.String() + ": " + p.Message
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// An Error has all that is wrong with a configuration.
type Error struct {
	// Problems has the errors and warnings in the order in which they were found. If
	// there are more than 100, only the first error is sure to be among them.
	Problems []*Problem
}

// Error lists the errors, one a line. Warnings are left out.
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

// problems collects what is wrong.
type problems struct {
	list   []*Problem
	errors int
}

// add lists p, and beyond maxProblems only the first error.
func (ps *problems) add(p *Problem) {
	if len(ps.list) < maxProblems || !p.Warning && ps.errors == 0 {
		ps.list = append(ps.list, p)
	}
	if !p.Warning {
		ps.errors++
	}
}

// shown is how a message repeats a word of a file.
func shown(s string) string { return strconv.Quote(fault.Shown(s, 100)) }

// A lineIndex has the offsets at which the lines of a file begin.
type lineIndex []int

func indexLines(src string) lineIndex {
	lines := lineIndex{0}
	for i := range len(src) {
		if src[i] == '\n' {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// place returns where the offset is in a file.
func (l lineIndex) place(file string, at int) Place {
	line, ok := slices.BinarySearch(l, at)
	if ok {
		line++
	}
	return Place{File: file, Line: line, Column: at - l[line-1] + 1}
}
