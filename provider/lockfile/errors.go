package lockfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/verify/checksum"
)

// ErrTooLarge means that the file has more than [MaxSize] bytes.
var ErrTooLarge = checksum.ErrTooLarge

// maxProblems is the maximum number of reported problems of one file.
const maxProblems = 50

// A ParseError is one problem in a lock file. An error that joins several unwraps to each.
type ParseError struct {
	Filename string // as given to the parser; may be empty
	Line     int    // counted from 1
	Column   int    // in characters, counted from 1
	Message  string // safe to print
	Err      error  // the cause, for example an *addrs.ParseError; may be nil
	offset   int
}

// Error returns "FILENAME:LINE:COLUMN: MESSAGE".
func (e *ParseError) Error() string {
	name := e.Filename
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	if name != "" {
		name += ":"
	}
	return fmt.Sprintf("%s%d:%d: %s", name, e.Line, e.Column, e.Message)
}

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }

// wrong returns an error at the offset.
func wrong(offset int, format string, args ...any) *ParseError {
	return &ParseError{offset: offset, Message: fmt.Sprintf(format, args...)}
}

// because returns an error at the offset with the text of its cause.
func because(offset int, err error) *ParseError {
	return &ParseError{offset: offset, Message: err.Error(), Err: err}
}

// position returns line and column of an offset. A byte order mark has no column.
func position(src string, offset int) (line, column int) {
	before := src[:min(offset, len(src))]
	line = strings.Count(before, "\n") + 1
	before = before[strings.LastIndexByte(before, '\n')+1:]
	if line == 1 {
		before = strings.TrimPrefix(before, byteOrderMark)
	}
	return line, utf8.RuneCountInString(before) + 1
}
