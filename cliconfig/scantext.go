package cliconfig

import (
	"strconv"
	"strings"
)

// quoted reads the string in double quotes at the current position. The text between ${
// and }, including quotes and line breaks, stays as it is.
func (s *scanner) quoted() (string, error) {
	start := s.pos
	s.pos++
	var b strings.Builder
	braces := 0
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case c == '"' && braces == 0:
			s.pos++
			return b.String(), nil
		case c == '\n' && braces == 0:
			return "", syntaxError(start, "the string is not closed in its line")
		case c == '\\':
			r, multibyte, tail, err := strconv.UnquoteChar(s.src[s.pos:], '"')
			if err != nil {
				return "", syntaxError(s.pos, `invalid escape sequence; write \\ for a backslash`)
			}
			end := len(s.src) - len(tail)
			switch {
			case braces > 0:
				b.WriteString(s.src[s.pos:end])
			case multibyte:
				b.WriteRune(r)
			default:
				b.WriteByte(byte(r))
			}
			s.pos = end
			continue
		case braces == 0 && strings.HasPrefix(s.src[s.pos:], "${"):
			b.WriteByte(c)
			s.pos++
			braces++
		case braces > 0 && c == '{':
			braces++
		case braces > 0 && c == '}':
			braces--
		}
		b.WriteByte(s.src[s.pos])
		s.pos++
	}
	return "", syntaxError(start, "the string is not closed")
}

// heredoc reads the string from << at the current position to the line with its marker.
func (s *scanner) heredoc() (string, error) {
	start := s.pos
	head, ok := strings.CutPrefix(s.src[start:], "<<")
	if !ok {
		return "", syntaxError(start, "unexpected character")
	}
	head, indented := strings.CutPrefix(head, "-")
	line, body, ok := strings.Cut(head, "\n")
	marker := strings.TrimSuffix(line, "\r")
	if !ok || marker == "" || strings.ContainsFunc(marker, func(r rune) bool { return !letter(r) && !digit(r) }) {
		return "", syntaxError(start, "a heredoc starts with << and a name that ends the line")
	}
	for from := 0; ; {
		end := strings.IndexByte(body[from:], '\n')
		if end < 0 {
			return "", syntaxError(start, "the heredoc needs a last line with only its name")
		}
		last := strings.TrimLeft(body[from:from+end], " \t\v\f\r")
		if strings.TrimRight(last, "\r") == marker {
			indent := body[from : from+end-len(last)]
			s.pos = len(s.src) - len(body) + from + end + 1
			return unindent(body[:from], indent, indented), nil
		}
		from += end + 1
	}
}

// unindent returns the content of a heredoc. indent is the white space before its marker.
func unindent(content, indent string, indented bool) string {
	if !indented {
		return content + indent
	}
	lines := strings.SplitAfter(content, "\n")
	lines = lines[:len(lines)-1] // without the empty text after the last line break
	for i, line := range lines {
		if !strings.HasPrefix(line, indent) {
			// Like the library, it removes the character before the marker.
			return strings.TrimRight(content+indent[:len(indent)-1], " \t")
		}
		lines[i] = line[len(indent):]
	}
	return strings.Join(lines, "")
}
