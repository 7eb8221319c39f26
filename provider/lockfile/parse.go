package lockfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// MaxSize is the maximum size of a lock file in bytes. A file of 50 providers with 30 hashes
// each has 120 KB.
const MaxSize = 16 << 20

// Parse reads a lock file as strictly as the CLI. filename is only used in errors.
//
// The error joins up to 50 [*ParseError], or wraps [ErrTooLarge]. If an address cannot be
// locked, it also wraps [ErrNotLockable]. Brackets may be nested 100 deep.
func Parse(data []byte, filename string) (*File, error) {
	return parse(data, filename, false)
}

// ParseLenient reads a lock file to edit it. [File.Bytes] and [File.Save] then change only
// modified entries, and keep comments, order, layout and unknown content.
//
// ParseLenient accepts values that are not in canonical form, and constraints that it cannot
// read. Other content that it does not understand may hide hashes, for example a misspelt
// argument, an invalid hash or a second block of a provider. It makes the entry
// [Entry].Unreadable. Outside of the entries it makes all entries Unreadable, and [File.Covers]
// true for all other providers.
//
// Comments in a modified entry stay, unless the entry was Unreadable or in one line. In a list
// of hashes they stay if hashes are only added, and if each has a line of its own.
//
// The error is a [*ParseError] if the syntax is too ambiguous to edit, or wraps [ErrTooLarge].
func ParseLenient(data []byte, filename string) (*File, error) {
	return parse(data, filename, true)
}

func parse(data []byte, filename string, lenient bool) (*File, error) {
	if len(data) > MaxSize {
		name := ""
		if filename != "" {
			name = fmt.Sprintf(" %q", filename)
		}
		return nil, fmt.Errorf("lock file%s %w: %d bytes, %d are allowed", name, ErrTooLarge, len(data), MaxSize)
	}
	p := parser{
		scanner: scanner{src: string(data)},
		lenient: lenient,
		entries: map[addrs.Provider]Entry{},
		blocks:  map[addrs.Provider]*block{},
	}
	if fatal := p.file(); fatal != nil {
		p.errors = append(p.errors, fatal)
	}
	if len(p.errors) > 0 {
		list := make([]error, len(p.errors))
		for i, problem := range located(p.errors, filename, p.src) {
			list[i] = problem
		}
		return nil, errors.Join(list...)
	}
	f := &File{Header: p.doc.header.text, entries: p.entries, warnings: located(p.warnings, filename, p.src)}
	if f.unreadable = p.unexplained; f.unreadable {
		for _, b := range p.blocks {
			b.entry.Unreadable, b.entry.Hashes = true, nil
			f.entries[b.entry.Provider] = b.entry
		}
	}
	if lenient && len(bytes.TrimSpace(data)) > 0 {
		p.doc.src = p.src
		f.doc = &p.doc
	}
	return f, nil
}

// located sorts problems by position and sets their positions.
func located(problems []*ParseError, filename, src string) []*ParseError {
	slices.SortStableFunc(problems, func(a, b *ParseError) int { return cmp.Compare(a.offset, b.offset) })
	for _, p := range problems {
		p.Filename = filename
		p.Line, p.Column = position(src, p.offset)
	}
	return problems
}

// A parser reads one file.
type parser struct {
	scanner
	lenient  bool
	brackets []byte // the expected closing brackets

	// unexplained says that a problem was reported: in the current block, or outside of all
	// provider blocks.
	unexplained bool

	doc      document
	entries  map[addrs.Provider]Entry
	blocks   map[addrs.Provider]*block // the first block of each provider
	errors   []*ParseError
	warnings []*ParseError
}

// report keeps a problem after which parsing can go on. It may hide the hashes of a provider.
func (p *parser) report(problem *ParseError) {
	p.unexplained = true
	p.respell(problem)
}

// respell keeps the problem that a value is understood, but must be written in another way.
func (p *parser) respell(problem *ParseError) {
	if p.lenient {
		p.warn(problem)
	} else if !p.full() {
		p.errors = append(p.errors, problem)
	}
}

// full reports whether the maximum number of errors is reached.
func (p *parser) full() bool { return len(p.errors) >= maxProblems }

func (p *parser) warn(problem *ParseError) {
	if len(p.warnings) < maxProblems {
		p.warnings = append(p.warnings, problem)
	}
}

// file reads the whole file. It returns a syntax error that ends parsing.
func (p *parser) file() *ParseError {
	if i := strings.Index("\n"+p.src, "\n<<<<<<< "); i >= 0 {
		return wrong(i, "unresolved merge conflict")
	}
	p.pos = len(p.src) - len(strings.TrimPrefix(p.src, byteOrderMark))
	p.doc.start = p.pos
	top := margin{comment: -1, blank: true}
	for !p.full() {
		t, problem := p.next()
		if problem != nil {
			return problem
		}
		switch t.kind {
		case atEOF:
			p.doc.header.end(p, &top)
			return nil
		case newline:
			if top.blank {
				p.doc.header.end(p, &top)
				top.comment = -1
			}
			top.blank = true
		case comment:
			top.add(p, t)
		case ident:
			start := p.lineStart(t.start)
			if top.comment >= 0 {
				start = top.comment
			}
			if problem := p.item(t, start); problem != nil {
				return problem
			}
			p.doc.header.done = true
			top = margin{comment: -1, blank: true}
		default:
			return wrong(t.start, "a block such as provider \"HOSTNAME/NAMESPACE/TYPE\" is expected here")
		}
	}
	return nil
}

// lineStart returns the start of the line of i if only blanks precede i, otherwise i.
func (p *parser) lineStart(i int) int {
	start := i
	for start > p.doc.start && (p.src[start-1] == ' ' || p.src[start-1] == '\t') {
		start--
	}
	if start == p.doc.start || p.src[start-1] == '\n' {
		return start
	}
	return i
}

// margin is the comments before the next block. They belong to the block if no blank line is
// among or after them.
type margin struct {
	comment int  // offset of the first, -1 for none
	last    int  // end of the last
	blank   bool // the current line is empty so far
	alone   bool // all are line comments, as in a header
}

func (m *margin) add(p *parser, t token) {
	if m.comment < 0 {
		m.comment, m.alone = p.lineStart(t.start), true
	}
	m.alone = m.alone && !strings.HasPrefix(p.text(t), "/*")
	m.last, m.blank = t.end, false
}

// header is the comment at the top of the file, before a blank line or the end of the file.
type header struct {
	span
	text string // trimmed lines
	done bool   // no header can follow
}

// end is called at a blank line and at the end of the file.
func (h *header) end(p *parser, m *margin) {
	if h.done || m.comment < 0 {
		return
	}
	h.done = true
	if !m.alone {
		return
	}
	h.span = span{m.comment, m.last}
	var lines []string
	for line := range strings.Lines(p.src[h.start:h.stop]) {
		lines = append(lines, strings.TrimSpace(line))
	}
	h.text = strings.Join(lines, "\n")
}
