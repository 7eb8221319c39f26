package lockfile

import (
	"iter"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/verify/checksum"
)

// An element is an element of a list in brackets, with its comments.
type element struct {
	above  []string // comments before it
	value  span     // empty before a comma without a value, and at the end
	tokens int      // number of tokens in value
	first  token    // of value
	behind []string // comments after it in its line
	last   bool     // the end of the list, which has only comments above

	hash    checksum.Hash // zero if the value is not a hash
	problem *ParseError   // of the value, even if hash is not zero
}

// elements yields the elements of the list that is the value of a, and then the end of the
// list.
func elements(src string, a *argument) iter.Seq[element] {
	return func(yield func(element) bool) {
		l := lister{scanner: scanner{src: src, pos: a.first.end}, end: a.value.stop}
		inLine, below := l.comments()
		l.above = append(inLine, below...)
		for !l.atEnd() {
			if !yield(l.element()) {
				return
			}
		}
		yield(element{above: l.above, last: true})
	}
}

// A lister reads the elements of a list.
type lister struct {
	scanner
	end   int      // of the list
	token token    // the next token
	above []string // comments before the next element
}

// atEnd reports whether only the closing bracket is left.
func (l *lister) atEnd() bool { return l.token.end == l.end || l.token.kind == atEOF }

// element reads a value, the comma after it, and the comments around both.
func (l *lister) element() element {
	e := element{value: span{l.token.start, l.token.start}}
	for depth := 0; !l.atEnd() && (depth > 0 || l.token.kind != comma); e.tokens++ {
		switch l.token.kind {
		case opening:
			depth++
		case closing:
			depth--
		}
		if e.tokens == 0 {
			e.first, e.above = l.token, l.above
		}
		// Comments between two tokens of the value are part of its text.
		e.value.stop = l.token.end
		e.behind, l.above = l.comments()
	}
	if l.token.kind == comma {
		inLine, below := l.comments()
		if e.lineIsFull() {
			l.above = append(l.above, inLine...)
		} else {
			e.behind = append(e.behind, inLine...)
		}
		l.above = append(l.above, below...)
	}
	e.hash, e.problem = e.read(l.src)
	return e
}

// comments reads up to the next token that is neither a comment nor a line break. It returns
// the comments in the current line and below.
func (l *lister) comments() (inLine, below []string) {
	for newLine := false; ; {
		t, problem := l.next()
		switch {
		case problem != nil:
			l.token = token{} // the end: the parser has reported it
			return inLine, below
		case t.kind == newline:
			newLine = true
		case t.kind != comment:
			l.token = t
			return inLine, below
		case newLine:
			below = append(below, l.text(t))
		default:
			inLine = append(inLine, l.text(t))
		}
	}
}

// lineIsFull reports whether the last comment of e reaches the end of the line.
func (e *element) lineIsFull() bool {
	return len(e.behind) > 0 && !strings.HasPrefix(e.behind[len(e.behind)-1], "/*")
}

// isList reports whether the value is a list in brackets.
func (a *argument) isList(src string) bool {
	return a.single && a.first.kind == opening && src[a.first.start] == '['
}

// hashes returns the hashes in the list that is the value of a.
func (p *parser) hashes(a *argument) []checksum.Hash {
	if !a.isList(p.src) {
		p.report(wrong(a.value.start, "argument \"hashes\" must be a list in brackets"))
		return nil
	}
	var hashes []checksum.Hash
	n := 0
	for e := range elements(p.src, a) {
		if e.last || p.full() {
			break
		}
		if n++; e.problem != nil {
			p.report(e.problem)
		}
		if !e.hash.IsZero() {
			hashes = append(hashes, e.hash)
		}
	}
	if n == 0 {
		p.report(wrong(a.value.start, "empty list of hashes; remove the argument"))
	}
	return checksum.Sorted(hashes)
}

// read returns the hash in the value of e.
func (e *element) read(src string) (h checksum.Hash, problem *ParseError) {
	if e.tokens != 1 || e.first.kind != quoted {
		return h, wrong(e.value.start, "a hash in double quotes, followed by a comma, is expected here")
	}
	raw, problem := unquote(src[e.first.start:e.first.end], e.first.start)
	if problem != nil {
		return h, problem
	}
	h, err := checksum.ParseHash(raw)
	if err != nil {
		return h, because(e.value.start, err)
	}
	if h.String() != raw {
		problem = wrong(e.value.start, "hash %q must be written %q, in lower case", raw, h)
	}
	return h, problem
}

// relist returns the list that is the value of a, changed to the hashes want, which are
// sorted. Existing hashes keep their place and comments. If the version changed, elements that
// are not hashes are dropped.
func relist(src string, a *argument, want []checksum.Hash, otherVersion bool) string {
	list := elements(src, a)
	if !a.isList(src) {
		list = slices.Values([]element{{above: comments(src, a.value), last: true}})
	}
	there := map[checksum.Hash]bool{}
	for e := range list {
		there[e.hash] = true
	}
	missing := slices.DeleteFunc(slices.Clone(want), func(h checksum.Hash) bool { return there[h] })
	var b strings.Builder
	b.WriteString("[\n")
	for e := range list {
		keep := e.tokens > 0 && !otherVersion
		if !e.hash.IsZero() {
			_, keep = slices.BinarySearchFunc(want, e.hash, checksum.Hash.Compare)
		}
		for len(missing) > 0 && (e.last || keep && !e.hash.IsZero() && missing[0].Compare(e.hash) < 0) {
			b.Write(appendHash(nil, missing[0]))
			missing = missing[1:]
		}
		e.write(&b, src, keep)
	}
	return b.String() + "  ]"
}

// write writes e as lines, or only the comments above it.
func (e *element) write(b *strings.Builder, src string, keep bool) {
	for _, c := range e.above {
		b.WriteString("    " + c + "\n")
	}
	if !keep {
		return
	}
	text := src[e.value.start:e.value.stop]
	if !e.hash.IsZero() {
		text = quote(e.hash.String())
	}
	b.WriteString(strings.Join(append([]string{"    " + text + ","}, e.behind...), " ") + "\n")
}

// comments returns the comments in a part of the source.
func comments(src string, part span) []string {
	var out []string
	s := scanner{src: src, pos: part.start}
	for s.pos < part.stop {
		t, problem := s.next()
		if problem != nil || t.kind == atEOF {
			break
		}
		if t.kind == comment && t.end <= part.stop {
			out = append(out, s.text(t))
		}
	}
	return out
}
