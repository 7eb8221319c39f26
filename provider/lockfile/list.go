package lockfile

import (
	"iter"
	"strings"

	"github.com/tofureg/tofureg/verify/checksum"
)

// An element is an element of a list in brackets.
type element struct {
	value  span          // empty before a comma without a value
	tokens int           // number of tokens in value
	first  token         // of value
	stop   int           // after the comma, or after value if there is none
	hash   checksum.Hash // zero if the value is not a hash
}

// elements yields the elements of the list that is the value of a.
func elements(src string, a *argument) iter.Seq[element] {
	return func(yield func(element) bool) {
		s := scanner{src: src, pos: a.first.end}
		t := s.inList()
		for t.kind != atEOF && t.end < a.value.stop {
			e := element{value: span{t.start, t.start}, stop: t.start}
			for depth := 0; t.kind != atEOF && t.end < a.value.stop && (depth > 0 || t.kind != comma); t = s.inList() {
				switch t.kind {
				case opening:
					depth++
				case closing:
					depth--
				}
				if e.tokens++; e.tokens == 1 {
					e.first = t
				}
				e.value.stop, e.stop = t.end, t.end
			}
			if t.kind == comma {
				e.stop = t.end
				t = s.inList()
			}
			if !yield(e) {
				return
			}
		}
	}
}

// inList returns the next token that is neither a comment nor a line break.
func (s *scanner) inList() token {
	for {
		switch t, problem := s.next(); {
		case problem != nil:
			return token{kind: atEOF} // the parser has reported it
		case t.kind != newline && t.kind != comment:
			return t
		}
	}
}

// hashes returns the hashes in the list that is the value of a.
func (p *parser) hashes(a *argument) []checksum.Hash {
	if !a.single || a.first.kind != opening || p.src[a.first.start] != '[' {
		p.report(wrong(a.value.start, "argument \"hashes\" must be a list in brackets"))
		return nil
	}
	var hashes []checksum.Hash
	empty := true
	for e := range elements(p.src, a) {
		if p.full() {
			break
		}
		empty = false
		hash, problem := e.read(p.src)
		switch {
		case problem == nil:
		case hash.IsZero():
			p.report(problem)
		default:
			p.respell(problem)
		}
		hashes = append(hashes, hash)
	}
	if empty {
		p.report(wrong(a.value.start, "empty list of hashes; remove the argument"))
	}
	return checksum.Sorted(hashes)
}

// read returns the hash in the value of e. If the hash is not zero, the problem is its spelling.
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

// addHashes adds hashes, which are sorted, to the list that is the value of a. It returns false
// if the list does not have each hash in a line of its own.
func (e *edits) addHashes(a *argument, added []checksum.Hash) bool {
	var list []edit
	at, ok := e.nextLine(a.first.end)
	for el := range elements(e.src, a) {
		h, problem := el.read(e.src)
		if !ok || problem != nil {
			return false
		}
		var text []byte
		for ; len(added) > 0 && added[0].Compare(h) < 0; added = added[1:] {
			text = appendHash(text, added[0])
		}
		if list = append(list, edit{span{at, at}, string(text)}); el.stop == el.value.stop {
			list = append(list, edit{span{el.stop, el.stop}, ","})
		}
		at, ok = e.nextLine(el.stop)
	}
	var text []byte
	for _, h := range added {
		text = appendHash(text, h)
	}
	if ok {
		e.list = append(append(e.list, list...), edit{span{at, at}, string(text)})
	}
	return ok
}

// nextLine returns the start of the line after i. It returns false if more than a line comment
// is between.
func (e *edits) nextLine(i int) (int, bool) {
	rest, _, ok := strings.Cut(e.src[i:], "\n")
	blank := strings.TrimSpace(rest)
	return i + len(rest) + 1, ok && (blank == "" || blank[0] == '#' || strings.HasPrefix(blank, "//"))
}
