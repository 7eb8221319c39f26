package lockfile

import (
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep brackets and interpolations are nested.
const maxDepth = 100

// A layer is what the scanner is inside of, within a text that has interpolations:
// "a ${f("b ${c}")}" has four of them at its innermost place.
type layer struct {
	kind   kind   // quoted, heredoc, or anything for the expression in ${ } or %{ }
	marker string // of a heredoc: what closes it
	fresh  bool   // in a heredoc: at the start of a line
	braces int    // in an expression: how many are open
}

// template returns the end of the quoted text or heredoc that starts at i.
func (s *scanner) template(i int) (int, *problem) {
	start := i
	var buf [4]layer
	open := append(buf[:0], layer{kind: anything}) // not closed by what starts at i
	for first := true; first || len(open) > 1; first = false {
		if i >= len(s.src) {
			return 0, wrong(start, "text that starts here is not closed")
		}
		if len(open)-1 > maxDepth {
			return 0, wrong(i, "nested more than %d deep", maxDepth)
		}
		var inner *layer
		var closed bool
		var p *problem
		switch top := &open[len(open)-1]; top.kind {
		case quoted:
			i, inner, closed, p = s.inQuoted(i)
		case heredoc:
			i, inner, closed, p = s.inHeredoc(i, top)
		default:
			i, inner, closed, p = s.inExpression(i, top)
		}
		switch {
		case p != nil:
			return 0, p
		case closed:
			open = open[:len(open)-1]
		case inner != nil:
			open = append(open, *inner)
		}
	}
	return i, nil
}

// inQuoted goes on at i, inside of quotes. It returns where to go on, and the layer
// that begins there or whether this one ends.
func (s *scanner) inQuoted(i int) (next int, inner *layer, closed bool, p *problem) {
	for ; i < len(s.src); i++ {
		switch c := s.src[i]; {
		case c == '"':
			return i + 1, nil, true, nil
		case c == '\n' || c == '\r':
			return 0, nil, false, wrong(i, "text in quotes runs over the end of the line")
		case c == '\\':
			if i++; i < len(s.src) && s.src[i] < utf8.RuneSelf {
				if s.src[i] == '\n' || s.src[i] == '\r' {
					i-- // the line ends, which is the problem
				}
				continue
			}
			i-- // what follows is not ASCII and is checked as such
		case c == '$' || c == '%':
			size, opens := s.sequence(i)
			if opens {
				return i + size, &layer{kind: anything}, false, nil
			}
			i += size - 1
		case c >= utf8.RuneSelf:
			size := s.runeLen(i)
			if size == 0 {
				return 0, nil, false, s.invalid(i)
			}
			i += size - 1
		}
	}
	return i, nil, false, nil
}

// inHeredoc is inQuoted for the heredoc top.
func (s *scanner) inHeredoc(i int, top *layer) (next int, inner *layer, closed bool, p *problem) {
	for ; i < len(s.src); i++ {
		if top.fresh {
			top.fresh = false
			// Without a line break after it, the marker closes nothing.
			line, _, more := strings.Cut(s.src[i:], "\n")
			if more && strings.TrimSpace(line) == top.marker {
				return i + len(strings.TrimSuffix(line, "\r")), nil, true, nil
			}
		}
		switch c := s.src[i]; {
		case c == '\n':
			top.fresh = true
		case c == '$' || c == '%':
			size, opens := s.sequence(i)
			if opens {
				return i + size, &layer{kind: anything}, false, nil
			}
			i += size - 1
		case c >= utf8.RuneSelf:
			size := s.runeLen(i)
			if size == 0 {
				return 0, nil, false, s.invalid(i)
			}
			i += size - 1
		}
	}
	return i, nil, false, nil
}

// inExpression is inQuoted for the expression top. It reads one token.
func (s *scanner) inExpression(i int, top *layer) (next int, inner *layer, closed bool, p *problem) {
	switch c := s.src[i]; {
	case c == '"':
		return i + 1, &layer{kind: quoted}, false, nil
	case c == ' ' || c == '\t':
		return i + 1, nil, false, nil
	case c == '{':
		top.braces++
		return i + 1, nil, false, nil
	case c == '}':
		top.braces--
		return i + 1, nil, top.braces < 0, nil
	}
	if marker, body, ok := s.heredoc(i); ok {
		return body, &layer{kind: heredoc, marker: marker, fresh: true}, false, nil
	}
	_, next, p = s.token(i)
	return next, nil, false, p
}

// sequence returns the length of what the $ or % at i starts, and whether that opens an
// interpolation. It is not one if the character is doubled.
func (s *scanner) sequence(i int) (size int, opens bool) {
	rest := s.src[i+1:]
	switch {
	case strings.HasPrefix(rest, "{"):
		return 2, true
	case len(rest) >= 2 && rest[0] == s.src[i] && rest[1] == '{':
		return 3, false
	}
	return 1, false
}

// runeLen returns the length of the character at i, or 0 if it is not UTF-8.
func (s *scanner) runeLen(i int) int {
	r, size := utf8.DecodeRuneInString(s.src[i:])
	if r == utf8.RuneError && size == 1 {
		return 0
	}
	return size
}

// heredoc returns the marker of the heredoc that starts at i, and the offset of its
// first line.
func (s *scanner) heredoc(i int) (marker string, body int, ok bool) {
	if !strings.HasPrefix(s.src[i:], "<<") {
		return "", 0, false
	}
	i += 2
	if strings.HasPrefix(s.src[i:], "-") {
		i++
	}
	end := s.identEnd(i)
	rest := strings.TrimPrefix(s.src[end:], "\r")
	if end == i || !strings.HasPrefix(rest, "\n") {
		return "", 0, false
	}
	return s.src[i:end], len(s.src) - len(rest) + 1, true
}
