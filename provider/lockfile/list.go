package lockfile

import (
	"iter"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/verify/checksum"
)

// An element is one of a list in brackets, with the comments around it.
type element struct {
	above  []string      // comments before it
	value  span          // empty at a comma or bracket with nothing before it
	tokens int           // how many are in value
	first  token         // of value
	behind []string      // comments after it in its line
	last   bool          // nothing but comments came after the last comma or element
	hash   checksum.Hash // set by read
}

// elements returns those of the list that is the value of a. They are separated by
// commas. The last one is always empty.
func elements(src string, a *argument) iter.Seq[element] {
	return func(yield func(element) bool) {
		l := lister{scanner: scanner{src: src, pos: a.first.end}}
		for {
			t, problem := l.next()
			if problem != nil || t.end == a.value.stop {
				break
			}
			if l.add(t) && !yield(l.done) {
				return
			}
		}
		if l.waits && !yield(l.previous) || l.current.tokens > 0 && !yield(l.current) {
			return
		}
		yield(element{above: l.above, last: true})
	}
}

// A lister puts elements together.
type lister struct {
	scanner
	current  element
	previous element // before the comma, if it waits for the comments behind it
	waits    bool
	done     element  // what add completed
	above    []string // comments for the next element
	depth    int      // of brackets within an element
	lines    int      // that ended since the last element or comma
}

// add takes the next token. It reports whether that completes an element.
func (l *lister) add(t token) bool {
	e := &l.current
	switch {
	case t.kind == newline:
		l.lines++
	case t.kind == comment && l.depth > 0:
	case t.kind == comment && l.lines == 0 && e.tokens > 0:
		e.behind = append(e.behind, l.text(t))
	case t.kind == comment && l.lines == 0 && l.waits && !l.previous.closed():
		l.previous.behind = append(l.previous.behind, l.text(t))
	case t.kind == comment:
		l.above = append(l.above, l.text(t))
	case t.kind == comma && l.depth == 0:
		if e.tokens == 0 {
			e.value = span{t.start, t.start}
		}
		completes := l.waits
		l.done, l.previous, l.waits, l.current, l.lines = l.previous, *e, true, element{}, 0
		return completes
	default:
		completes := e.tokens == 0 && l.waits
		if completes {
			l.done, l.waits = l.previous, false
		}
		if e.tokens == 0 {
			e.first, e.value.start, e.above = t, t.start, l.above
		}
		// Comments between the tokens of one element are in its text already.
		e.tokens, e.value.stop, e.behind, l.above, l.lines = e.tokens+1, t.end, nil, nil, 0
		switch t.kind {
		case opening:
			l.depth++
		case closing:
			l.depth--
		}
		return completes
	}
	return false
}

// closed reports whether nothing more fits into the line of e, because a comment goes
// on to its end.
func (e *element) closed() bool {
	return len(e.behind) > 0 && !strings.HasPrefix(e.behind[len(e.behind)-1], "/*")
}

// isList reports whether the value is a list in brackets.
func (a *argument) isList(src string) bool {
	return a.single && a.first.kind == opening && src[a.first.start] == '['
}

// hashes returns those in the list that is the value of a.
func (p *parser) hashes(a *argument) []checksum.Hash {
	if !a.isList(p.src) {
		p.report(wrong(a.value.start, "argument \"hashes\" wants a list in brackets"))
		return nil
	}
	var hashes []checksum.Hash
	n := 0
	for e := range elements(p.src, a) {
		if e.last || p.full() {
			break
		}
		n++
		problem := e.read(p.src)
		if problem != nil {
			p.report(problem)
		}
		if !e.hash.IsZero() {
			hashes = append(hashes, e.hash)
		}
	}
	if n == 0 {
		p.report(wrong(a.value.start, "the list of hashes is empty; without hashes the argument must be missing"))
	}
	return checksum.Sorted(hashes)
}

// read sets the hash of e, unless it is none. There can be a problem with its form even
// so.
func (e *element) read(src string) *problem {
	if e.tokens != 1 || e.first.kind != quoted {
		return wrong(e.value.start, "a hash in double quotes, followed by a comma, is expected here")
	}
	raw, problem := unquote(src[e.first.start:e.first.end], e.first.start)
	if problem != nil {
		return problem
	}
	h, err := checksum.ParseHash(raw)
	if err != nil {
		return because(e.value.start, err)
	}
	if e.hash = h; h.String() != raw {
		return wrong(e.value.start, "hash %q must be written %q, in lower case", raw, h)
	}
	return nil
}

// relist returns the list that is the value of a with the hashes want, which are
// sorted. What is already there keeps its place and its comments. With fresh, elements
// that are no hashes are dropped too.
func relist(src string, a *argument, want []checksum.Hash, fresh bool) string {
	list := []element{{above: comments(src, a.value), last: true}}
	if a.isList(src) {
		list = slices.Collect(elements(src, a))
	}
	there := map[checksum.Hash]bool{}
	for i := range list {
		_ = list[i].read(src) // what has a problem is no hash, or is written anew
		there[list[i].hash] = true
	}
	missing := slices.DeleteFunc(slices.Clone(want), func(h checksum.Hash) bool { return there[h] })
	b := []byte("[\n")
	for _, e := range list {
		_, keep := slices.BinarySearchFunc(want, e.hash, checksum.Hash.Compare)
		if e.hash.IsZero() {
			keep = e.tokens > 0 && !fresh
		}
		for len(missing) > 0 && (e.last || keep && !e.hash.IsZero() && missing[0].Compare(e.hash) < 0) {
			b = appendElement(b, missing[0].String())
			missing = missing[1:]
		}
		b = e.append(b, src, keep)
	}
	return string(append(b, "  ]"...))
}

// append appends e as lines of its own, or only the comments above it.
func (e *element) append(b []byte, src string, keep bool) []byte {
	for _, c := range e.above {
		b = append(b, "    "+c+"\n"...)
	}
	if !keep {
		return b
	}
	text := src[e.value.start:e.value.stop]
	if !e.hash.IsZero() {
		text = quote(e.hash.String())
	}
	b = append(b, "    "+text+","...)
	for _, c := range e.behind {
		b = append(b, " "+c...)
	}
	return append(b, '\n')
}

// comments returns those in a part of the source.
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
