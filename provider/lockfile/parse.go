package lockfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/verify/checksum"
)

// maxSize is the maximum size of a lock file in bytes. A file of 50 providers with 30 hashes
// each has 120 KB.
const maxSize = 4 << 20

const (
	maxProblems = 50  // that are reported of one file
	maxDepth    = 100 // of nested brackets
)

// Parse reads a lock file. The error joins up to 50 [*ParseError], or wraps
// [github.com/tofureg/tofureg/failure.ErrTooLarge] beyond 4 MiB.
func Parse(data []byte, filename string) (*File, error) {
	return parse(data, filename, false)
}

// ParseLenient reads a lock file to edit it. [File.Bytes] and [File.Save] then change only modified entries, which lose
// comments inside, and keep all other content.
//
// ParseLenient accepts values that are not in canonical form. Constraints that it cannot read are zero; their text
// stays until the entry gets others. Other unknown content may hide hashes. In an entry, such as a misspelt argument,
// it makes the entry Unreadable. Outside entries, such as an unknown block, it makes all entries Unreadable, and
// [File.Covers] true for providers without one.
//
// The error is a [*ParseError] if the syntax is too ambiguous to edit, or wraps
// [github.com/tofureg/tofureg/failure.ErrTooLarge].
func ParseLenient(data []byte, filename string) (*File, error) {
	return parse(data, filename, true)
}

// A ParseError is one problem in a lock file.
type ParseError struct {
	Filename string // as given to the parser; may be empty
	Line     int    // counted from 1
	Column   int    // in characters, counted from 1
	Message  string // safe to print
	Err      error  // the cause, such as an *addrs.ParseError, or nil
	offset   int
}

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

func (e *ParseError) Unwrap() error { return e.Err }

// wrong returns an error at the offset.
func wrong(offset int, format string, args ...any) *ParseError {
	return &ParseError{offset: offset, Message: fmt.Sprintf(format, args...)}
}

// because returns an error at the offset with the text of its cause.
func because(offset int, err error) *ParseError {
	return &ParseError{offset: offset, Message: err.Error(), Err: err}
}

func parse(data []byte, filename string, lenient bool) (*File, error) {
	if len(data) > maxSize {
		name := ""
		if filename != "" {
			name = fmt.Sprintf(" %q", filename)
		}
		return nil, fmt.Errorf("lock file%s %w: %d bytes, %d are allowed", name, failure.ErrTooLarge, len(data), maxSize)
	}
	p := parser{
		scanner: scanner{src: string(data)},
		lenient: lenient,
		entries: map[addrs.Provider]Entry{},
		blocks:  map[addrs.Provider]*block{},
	}
	fatal := p.file()
	if fatal != nil {
		p.errors = append(p.errors, fatal)
	}
	if len(p.errors) > 0 {
		list := make([]error, len(p.errors))
		for i, problem := range located(p.errors, filename, p.src) {
			list[i] = problem
		}
		if lenient {
			return nil, fatal
		}
		return nil, errors.Join(list...)
	}
	f := &File{Header: p.doc.headerText, entries: p.entries, warnings: located(p.warnings, filename, p.src)}
	if f.unreadable = p.unexplained; f.unreadable {
		for _, b := range p.blocks {
			b.entry.Unreadable, b.entry.Hashes = true, nil
			f.entries[b.entry.Provider] = b.entry
		}
	}
	if lenient && len(bytes.TrimSpace(data)) > 0 {
		p.doc.src = p.src
		f.doc, f.constraints = &p.doc, map[addrs.Provider]string{}
		for address, b := range p.blocks {
			f.constraints[address] = b.constraints
		}
	}
	return f, nil
}

// located sorts problems by position and sets their positions. A byte order mark has no column.
func located(problems []*ParseError, filename, src string) []*ParseError {
	slices.SortStableFunc(problems, func(a, b *ParseError) int { return cmp.Compare(a.offset, b.offset) })
	for _, p := range problems {
		before := src[:min(p.offset, len(src))]
		line := strings.TrimPrefix(before, byteOrderMark)
		line = line[strings.LastIndexByte(line, '\n')+1:]
		p.Filename, p.Line, p.Column = filename, lineOf(src, p.offset), utf8.RuneCountInString(line)+1
	}
	return problems
}

// lineOf returns the number of the line with the offset.
func lineOf(src string, offset int) int {
	return strings.Count(src[:min(offset, len(src))], "\n") + 1
}

// A document is the source of a file from ParseLenient, with the positions of its entries. It
// does not change; write compares it with the entries.
type document struct {
	src        string
	start      int // after the byte order mark
	header     span
	headerText string   // trimmed lines
	blocks     []*block // provider blocks in the order of the source
}

// span is a part of the source.
type span struct{ start, stop int }

// A block is a provider block of the source.
type block struct {
	entry       Entry
	first       *block // the first block of the same provider, nil if this is the first
	whole       span   // whole lines, with the comments directly above
	braced      span   // from "provider" to the closing brace
	constraints string // the source of constraints that cannot be read
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
	var (
		above  = -1   // start of the comments without a blank line among or after them, -1 for none
		last   int    // end of these comments
		lines  bool   // they are line comments, as in a header
		blank  = true // the current line is empty so far
		atHead = true // no comment with a blank line after it and no item was read
	)
	// The comments at the top, before a blank line or the end of the file, are the header.
	endOfComments := func() {
		if above >= 0 && atHead {
			atHead = false
			if lines {
				p.doc.header = span{above, last}
				p.doc.headerText = trimLines(p.src[above:last])
			}
		}
		above = -1
	}
	for !p.full() {
		t, problem := p.next()
		if problem != nil {
			return problem
		}
		switch t.kind {
		case atEOF:
			endOfComments()
			return nil
		case newline:
			if blank {
				endOfComments()
			}
			blank = true
		case comment:
			if above < 0 {
				above, lines = p.lineStart(t.start), true
			}
			lines = lines && !strings.HasPrefix(p.text(t), "/*")
			last, blank = t.end, false
		case ident:
			if above < 0 {
				above = p.lineStart(t.start)
			}
			if problem := p.item(t, above); problem != nil {
				return problem
			}
			above, blank, atHead = -1, true, false
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

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// item reads an argument or a block after its name. start is its position with the comments
// above.
func (p *parser) item(name token, start int) *ParseError {
	t, problem := p.significant()
	if problem != nil {
		return problem
	}
	if t.kind == equals {
		p.report(wrong(name.start, "argument %q is not expected here; a lock file has provider blocks", p.text(name)))
		return p.value(false, func(token, int) {})
	}
	labels, open, problem := p.labels(t)
	if problem != nil {
		return problem
	}
	word := p.text(name)
	known := word == "provider" || word == "module"
	switch {
	case known && len(labels) != 1:
		p.report(wrong(name.start, "block %q has %d labels, want 1", word, len(labels)))
	case word == "provider":
		return p.provider(name, labels[0], open, start)
	case word == "module":
		p.warn(wrong(name.start, "locks for modules are ignored, as in the CLI"))
	default:
		p.report(wrong(name.start, "block %q is not expected here; a lock file has provider blocks", word))
	}
	return p.skip(open)
}

// significant returns the next token that is not a comment.
func (p *parser) significant() (token, *ParseError) {
	for {
		if t, problem := p.next(); problem != nil || t.kind != comment {
			return t, problem
		}
	}
}

// labels reads the labels of a block, from t to the brace.
func (p *parser) labels(t token) (labels []token, open token, problem *ParseError) {
	for {
		switch {
		case t.kind == quoted || t.kind == ident:
			labels = append(labels, t)
		case p.text(t) == "{":
			return labels, t, nil
		default:
			return nil, token{}, wrong(t.start, "a label in quotes or an opening brace is expected here")
		}
		if t, problem = p.significant(); problem != nil {
			return nil, token{}, problem
		}
	}
}

// provider reads a provider block after the opening brace.
func (p *parser) provider(name, label, open token, start int) *ParseError {
	address, problem := p.address(label)
	if problem != nil {
		p.report(problem)
		return p.skip(open)
	}
	b := &block{entry: Entry{Provider: address}, whole: span{start: start}, braced: span{start: name.start}}
	elsewhere := p.unexplained
	p.unexplained = false
	if problem := p.body(b, name, open); problem != nil {
		return problem
	}
	if problem := p.endOfBlock(); problem != nil {
		return problem
	}
	b.whole.stop = p.pos
	first := p.blocks[address]
	if first == nil {
		first, p.blocks[address] = b, b
	} else if b.first = first; !p.lenient || len(p.warnings) < maxProblems { // counting lines takes time
		p.report(wrong(label.start, "provider %s is locked in line %d already", address, lineOf(p.src, first.braced.start)))
	}
	if p.unexplained || b.first != nil {
		first.entry.Unreadable, first.entry.Hashes = true, nil
	}
	if first.entry.Version != b.entry.Version {
		first.entry.Version = addrs.Version{}
	}
	p.entries[address] = first.entry
	p.unexplained = elsewhere
	if p.lenient {
		p.doc.blocks = append(p.doc.blocks, b)
	}
	return nil
}

// address returns the address in the label of a provider block.
func (p *parser) address(label token) (address addrs.Provider, problem *ParseError) {
	raw := p.text(label)
	if label.kind == quoted {
		if raw, problem = p.unquote(label); problem != nil {
			return address, problem
		}
	}
	address, err := addrs.ParseProvider(raw)
	if err == nil {
		err = lockable(address)
	}
	if err != nil {
		return address, because(label.start, err)
	}
	if address.String() != raw {
		p.respell(wrong(label.start, "address %q must be written %q", raw, address))
	}
	return address, nil
}

// body reads from the opening brace to the closing brace.
func (p *parser) body(b *block, name, open token) *ParseError {
	seen := map[string]int{}
	inline := false // the body is in the line of the braces
	for n := 0; ; n++ {
		t, problem := p.significant()
		if problem != nil {
			return problem
		}
		if n == 0 {
			inline = t.kind != newline
		}
		switch {
		case t.kind == newline && !inline:
			continue
		case t.kind == newline:
			return wrong(t.start, "want \"}\" in this line, or the argument in a line of its own")
		case p.text(t) == "}":
			b.braced.stop = t.end
			if seen["version"] == 0 {
				p.report(wrong(name.start, "provider %s has no version", b.entry.Provider))
			} else if seen["version"] > 1 {
				b.entry.Version = addrs.Version{}
			}
			return nil
		case t.kind == atEOF:
			return wrong(open.start, "unclosed block")
		case t.kind != ident, n > 0 && inline:
			return wrong(t.start, "an argument is expected here")
		}
		if problem := p.member(b, t, inline, seen); problem != nil {
			return problem
		}
	}
}

// member reads an argument or a nested block of a provider block, and counts it.
func (p *parser) member(b *block, name token, inline bool, seen map[string]int) *ParseError {
	t, problem := p.significant()
	if problem != nil {
		return problem
	}
	word := p.text(name)
	if t.kind != equals {
		_, open, problem := p.labels(t)
		if problem != nil {
			return problem
		}
		if inline {
			return wrong(name.start, "a block is not expected in the line of another one")
		}
		p.report(wrong(name.start, "block %q is not expected in a provider block", word))
		return p.skip(open)
	}
	if word != "version" && word != "constraints" && word != "hashes" {
		p.report(wrong(name.start, "argument %q is not expected in a provider block", word))
		return p.value(inline, func(token, int) {})
	}
	switch seen[word]++; {
	case seen[word] > 1:
		p.report(wrong(name.start, "argument %q is set twice", word))
		return p.value(inline, func(token, int) {})
	case word == "version":
		b.entry.Version, _, problem = textValue(p, name, inline, addrs.ParseVersion)
	case word == "constraints": // for people, so they may be unreadable
		unexplained := p.unexplained
		b.entry.Constraints, b.constraints, problem = textValue(p, name, inline, addrs.ParseProviderConstraint)
		p.unexplained = unexplained
	default:
		b.entry.Hashes, problem = p.hashes(inline)
	}
	return problem
}

// textValue reads and parses the value of the argument with this name. If the value is invalid, it
// reports a problem, and returns zero and the source.
func textValue[T interface{ String() string }](p *parser, name token, inline bool, parse func(string) (T, error)) (v T, invalid string, problem *ParseError) {
	var value token // the first token, extended to the last one
	n := 0
	problem = p.value(inline, func(t token, _ int) {
		if n++; n == 1 {
			value = t
		}
		value.end = t.end
	})
	if problem != nil {
		return v, "", problem
	}
	if value.kind != quoted || n > 1 {
		p.report(wrong(value.start, "argument %q must be a string literal", p.text(name)))
		return v, p.text(value), nil
	}
	raw, problem := p.unquote(value)
	if problem != nil {
		p.report(problem)
		return v, p.text(value), nil
	}
	v, err := parse(raw)
	if err != nil {
		p.report(because(value.start, err))
		return v, p.text(value), nil
	}
	if v.String() != raw {
		p.respell(wrong(value.start, "%s %q must be written %q", p.text(name), raw, v))
	}
	return v, "", nil
}

// hashes reads the value of the argument hashes. It returns the hashes sorted.
func (p *parser) hashes(inline bool) ([]checksum.Hash, *ParseError) {
	var (
		hashes       []checksum.Hash
		list, item   token // the first tokens of the value and of the current item
		tokens       int   // of the current item
		isList, none = true, true
	)
	endItem := func() {
		none = false
		if !isList || p.full() {
			return
		}
		hash, problem := p.hash(item, tokens)
		tokens = 0
		switch {
		case problem == nil:
		case hash.IsZero():
			p.report(problem)
		default:
			p.respell(problem)
		}
		hashes = append(hashes, hash)
	}
	n := 0
	problem := p.value(inline, func(t token, depth int) {
		switch n++; {
		case n == 1:
			list, isList = t, p.text(t) == "["
		case depth == 0:
			isList = false // there is more than a list
		case depth == 1 && t.kind == comma:
			if tokens == 0 {
				item = t
			}
			endItem()
		case depth == 1 && t.kind == closing:
			if tokens > 0 {
				endItem()
			}
		default:
			if tokens++; tokens == 1 {
				item = t
			}
		}
	})
	switch {
	case problem != nil:
		return nil, problem
	case !isList:
		p.report(wrong(list.start, "argument \"hashes\" must be a list in brackets"))
		return nil, nil
	case none:
		p.report(wrong(list.start, "empty list of hashes; remove the argument"))
	}
	return hashlist.Sorted(hashes), nil
}

// hash returns the hash in the item of a list that has t as the first of its tokens. If the hash
// is not zero, the problem is its spelling.
func (p *parser) hash(t token, tokens int) (h checksum.Hash, problem *ParseError) {
	if tokens != 1 || t.kind != quoted {
		return h, wrong(t.start, "a hash in double quotes, followed by a comma, is expected here")
	}
	raw, problem := p.unquote(t)
	if problem != nil {
		return h, problem
	}
	h, err := checksum.ParseHash(raw)
	if err != nil {
		return h, because(t.start, err)
	}
	if h.String() != raw {
		problem = wrong(t.start, "hash %q must be written %q, in lower case", raw, h)
	}
	return h, problem
}

// value reads the value of an argument and the end of its line. In an inline block it reads up to
// the brace. It calls each for each token of the value, with the number of brackets around it.
func (p *parser) value(inline bool, each func(t token, depth int)) *ParseError {
	p.brackets = p.brackets[:0]
	for n := 0; ; {
		t, problem := p.next()
		depth := len(p.brackets)
		switch {
		case problem != nil:
			return problem
		case t.kind == comment, t.kind == newline && depth > 0:
			continue
		}
		if depth == 0 {
			end := t.kind == newline || t.kind == atEOF
			if inline && (end || p.text(t) == "}") {
				p.pos, end = t.start, true
			}
			switch {
			case end && n == 0:
				return wrong(t.start, "a value is expected here")
			case end:
				return nil
			case t.kind == comma:
				return wrong(t.start, "unexpected comma; each argument needs its own line")
			}
		}
		if problem := p.nest(t); problem != nil {
			return problem
		}
		n++
		each(t, depth)
	}
}

// nest opens or closes a bracket if t does.
func (p *parser) nest(t token) *ParseError {
	switch t.kind {
	case opening:
		if len(p.brackets) == maxDepth {
			return wrong(t.start, "nested more than %d deep", maxDepth)
		}
		p.brackets = append(p.brackets, "}])"[strings.IndexByte("{[(", p.src[t.start])])
	case closing:
		n := len(p.brackets)
		if n == 0 || p.brackets[n-1] != p.src[t.start] {
			return wrong(t.start, "unmatched %q", p.src[t.start])
		}
		p.brackets = p.brackets[:n-1]
	case atEOF:
		if len(p.brackets) > 0 {
			return wrong(t.start, "unclosed bracket at the end of the file")
		}
	}
	return nil
}

// skip reads the body of a block after its opening brace, and the end of the line.
func (p *parser) skip(open token) *ParseError {
	p.brackets = p.brackets[:0]
	for t := open; ; {
		if problem := p.nest(t); problem != nil {
			return problem
		}
		if len(p.brackets) == 0 {
			return p.endOfBlock()
		}
		var problem *ParseError
		if t, problem = p.next(); problem != nil {
			return problem
		}
	}
}

// endOfBlock reads the rest of the line of the closing brace, which must be empty.
func (p *parser) endOfBlock() *ParseError {
	t, problem := p.significant()
	if problem == nil && t.kind != newline && t.kind != atEOF {
		problem = wrong(t.start, "a new line is expected after this block")
	}
	return problem
}
