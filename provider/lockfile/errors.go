package lockfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/verify/checksum"
)

// ErrTooLarge: the file has more than [MaxSize] bytes.
var ErrTooLarge = checksum.ErrTooLarge

// maxProblems bounds how many problems of one file are reported.
const maxProblems = 50

// A ParseError is one thing that is wrong with a lock file, and where. An error that
// joins several of them unwraps to each.
type ParseError struct {
	Filename string // as given to the parser; may be empty
	Line     int    // counted from 1
	Column   int    // in characters, counted from 1
	Message  string // what is wrong; safe to print
	Err      error  // the cause, such as an *addrs.ParseError or a *checksum.HashError; may be nil
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

// A problem is a ParseError whose place is still an offset.
type problem struct {
	offset int
	text   string
	cause  error
}

// wrong returns a problem at the offset.
func wrong(offset int, format string, args ...any) *problem {
	return &problem{offset: offset, text: fmt.Sprintf(format, args...)}
}

// because returns a problem whose text is that of its cause.
func because(offset int, err error) *problem {
	return &problem{offset: offset, text: err.Error(), cause: err}
}

// at turns a problem into the error for callers.
func (p *problem) at(filename, src string) *ParseError {
	line, column := position(src, p.offset)
	return &ParseError{Filename: filename, Line: line, Column: column, Message: p.text, Err: p.cause}
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
