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

// MaxSize is the size in bytes up to which a lock file is read. One of 50 providers
// with 30 hashes each has 120 KB.
const MaxSize = 16 << 20

// Parse reads a lock file as strictly as the CLI. filename is for errors only and may
// be empty.
//
// The error joins a *[ParseError] for each problem, up to 50; or it wraps
// [ErrTooLarge]. The file is nil then. An address that cannot be locked also matches
// [ErrNotLockable].
func Parse(data []byte, filename string) (*File, error) {
	return parse(data, filename, false)
}

// ParseLenient reads a lock file to edit it. [File.Bytes] and [File.Save] then change only
// entries that were changed. Comments, order, layout and unknown content stay.
//
// ParseLenient understands addresses, versions and constraints that are not in canonical form,
// and ignores unknown arguments and blocks, and hashes that are not well-formed. An entry
// without a usable version has the zero Version. An entry with hashes of which none is
// well-formed is [Entry].Unreadable. Of several blocks for one provider the first counts, and
// the others are removed when its entry is changed.
//
// Comments within a changed entry stay too, except those that belong to what is removed: in
// the line of a hash or a constraint, or directly above a block.
//
// The error is a *[ParseError] if the syntax leaves open what a change would do, or it wraps
// [ErrTooLarge].
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
	if lenient && len(bytes.TrimSpace(data)) > 0 {
		p.doc.src = p.src
		f.doc = &p.doc
	}
	return f, nil
}

// located sorts the problems as in the file and sets where they are.
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
	brackets []byte // the closing ones that are awaited

	doc      document
	entries  map[addrs.Provider]Entry
	blocks   map[addrs.Provider]*block // the first of each
	errors   []*ParseError
	warnings []*ParseError
}

// report keeps a problem behind which the file can still be read.
func (p *parser) report(problem *ParseError) {
	if p.lenient {
		p.warn(problem)
	} else if !p.full() {
		p.errors = append(p.errors, problem)
	}
}

// full reports whether there are so many errors that reading on is no use.
func (p *parser) full() bool { return len(p.errors) >= maxProblems }

func (p *parser) warn(problem *ParseError) {
	if len(p.warnings) < maxProblems {
		p.warnings = append(p.warnings, problem)
	}
}

// file reads the whole file. The problem that it returns is one of syntax, behind which
// nothing can be told.
func (p *parser) file() *ParseError {
	if i := conflict(p.src); i >= 0 {
		return wrong(i, "conflict of a merge that is not resolved")
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

// conflict returns the offset of the first mark of a merge conflict, or -1.
func conflict(src string) int {
	const mark = "<<<<<<< "
	if strings.HasPrefix(src, mark) {
		return 0
	}
	if i := strings.Index(src, "\n"+mark); i >= 0 {
		return i + 1
	}
	return -1
}

// lineStart returns where the line of i starts if only blanks stand before i, and i
// otherwise.
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

// margin is what stands before the next block: comments, without a blank line among
// them or after them, are about that block.
type margin struct {
	comment int  // offset of the first, -1 for none
	last    int  // end of the last
	blank   bool // nothing stands in the current line yet
	alone   bool // all of them take the rest of a line, as those in a header do
}

func (m *margin) add(p *parser, t token) {
	if m.comment < 0 {
		m.comment, m.alone = p.lineStart(t.start), true
	}
	m.alone = m.alone && !strings.HasPrefix(p.text(t), "/*")
	m.last, m.blank = t.end, false
}

// header is the comment at the top of the file, with a blank line or nothing after it.
type header struct {
	span
	text string // lines without the blanks around them
	done bool   // what follows cannot be the header any more
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
