package lockfile

import (
	"strings"
	"unicode/utf8"
)

// maxDepth is the maximum depth of nested brackets, texts and interpolations.
const maxDepth = 100

// A template is a quoted text or a heredoc. Its interpolations ${ } and %{ } hold expressions,
// which may hold texts. Each nesting is one level.
type template struct {
	*scanner
	start int // offset of the outermost text
}

// template returns the end of the quoted text or heredoc at i.
func (s *scanner) template(i int) (int, *ParseError) {
	t := template{s, i}
	if marker, body, ok := s.heredoc(i); ok {
		return t.heredocLines(body, marker, 1)
	}
	return t.quoted(i+1, 1)
}

// quoted returns the end of a quoted text that continues at i.
func (t template) quoted(i, level int) (end int, p *ParseError) {
	for i < len(t.src) && p == nil {
		switch c := t.src[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9': // almost all characters of a lock file
			i++
		case c == '"':
			return i + 1, nil
		case c == '\n' || c == '\r':
			return 0, wrong(i, "quoted text is not closed in this line")
		case c == '\\' && i+1 < len(t.src) && strings.IndexByte(`"\$%`, t.src[i+1]) >= 0:
			i += 2
		default:
			i, p = t.character(i, level)
		}
	}
	return 0, t.unclosed(p)
}

// heredocLines returns the end of a heredoc whose lines continue at i. A closing marker needs
// a line break after it.
func (t template) heredocLines(i int, marker string, level int) (end int, p *ParseError) {
	for lineStart := true; i < len(t.src) && p == nil; {
		if lineStart {
			line, _, more := strings.Cut(t.src[i:], "\n")
			if more && strings.TrimSpace(line) == marker {
				return i + len(strings.TrimSuffix(line, "\r")), nil
			}
		}
		lineStart = t.src[i] == '\n'
		i, p = t.character(i, level)
	}
	return 0, t.unclosed(p)
}

// character returns the end of the character or interpolation at i.
func (t template) character(i, level int) (end int, p *ParseError) {
	switch c := t.src[i]; {
	case c == '$' || c == '%':
		size, opens := t.sequence(i)
		if opens {
			return t.expression(i+size, level+1)
		}
		return i + size, nil
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRuneInString(t.src[i:])
		if r == utf8.RuneError && size == 1 {
			return 0, t.invalid(i)
		}
		return i + size, nil
	}
	return i + 1, nil
}

// expression returns the end of the interpolation whose expression starts at i.
func (t template) expression(i, level int) (end int, p *ParseError) {
	if level > maxDepth {
		return 0, wrong(i, "nested more than %d deep", maxDepth)
	}
	for braces := 0; i < len(t.src) && p == nil; {
		switch c := t.src[i]; {
		case c == '}' && braces == 0:
			return i + 1, nil
		case c == '}':
			braces--
			i++
		case c == '{':
			braces++
			i++
		case c == ' ' || c == '\t':
			i++
		case c == '"':
			i, p = t.quoted(i+1, level+1)
		default:
			if marker, body, ok := t.heredoc(i); ok {
				i, p = t.heredocLines(body, marker, level+1)
			} else {
				_, i, p = t.token(i)
			}
		}
	}
	return 0, t.unclosed(p)
}

// unclosed returns p, or the error for a text without an end.
func (t template) unclosed(p *ParseError) *ParseError {
	if p != nil {
		return p
	}
	return wrong(t.start, "unclosed text")
}

// sequence returns the length of the sequence that starts with the $ or % at i, and whether it
// opens an interpolation. A doubled character is an escape.
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

// heredoc returns the marker of the heredoc at i, and the offset of its first line.
func (s *scanner) heredoc(i int) (marker string, body int, ok bool) {
	rest, ok := strings.CutPrefix(s.src[i:], "<<")
	if !ok {
		return "", 0, false
	}
	i = len(s.src) - len(strings.TrimPrefix(rest, "-"))
	end := s.identEnd(i)
	rest = strings.TrimPrefix(s.src[end:], "\r")
	if end == i || !strings.HasPrefix(rest, "\n") {
		return "", 0, false
	}
	return s.src[i:end], len(s.src) - len(rest) + 1, true
}
