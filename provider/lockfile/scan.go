package lockfile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The scanner reads the tokens of the native syntax of HCL,
// https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md. It recurses only into nested
// texts, to 100 levels. The HCL library, which the tests compare it with, holds all tokens in
// memory and recurses without limit.

const byteOrderMark = "\ufeff"

type kind byte

const (
	atEOF kind = iota
	newline
	comment
	ident
	quoted   // a text in double quotes, with its interpolations
	heredoc  // from << to the closing marker
	opening  // one of { [ (
	closing  // one of } ] )
	equals   // = alone
	comma    //
	anything // a number or another part of an expression
)

type token struct {
	kind       kind
	start, end int // offsets
}

type scanner struct {
	src string
	pos int // offset of the next token, or of blanks before it
}

// text returns the source of t.
func (s *scanner) text(t token) string { return s.src[t.start:t.end] }

// next returns the next token, or atEOF at the end of the source.
func (s *scanner) next() (token, *ParseError) {
	for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
		s.pos++
	}
	t := token{start: s.pos}
	var p *ParseError
	t.kind, t.end, p = s.token(s.pos)
	if p == nil {
		s.pos = t.end
	}
	return t, p
}

// token returns kind and end of the token at i.
func (s *scanner) token(i int) (kind, int, *ParseError) {
	if i == len(s.src) {
		return atEOF, i, nil
	}
	switch c := s.src[i]; c {
	case '\n':
		return newline, i + 1, nil
	case '#':
		return comment, s.lineEnd(i), nil
	case '"':
		end, p := s.template(i)
		return quoted, end, p
	case '{', '[', '(':
		return opening, i + 1, nil
	case '}', ']', ')':
		return closing, i + 1, nil
	case ',':
		return comma, i + 1, nil
	}
	if strings.HasPrefix(s.src[i:], "\r\n") {
		return newline, i + 2, nil
	}
	return s.other(i)
}

// other continues token for less common tokens.
func (s *scanner) other(i int) (kind, int, *ParseError) {
	rest := s.src[i:]
	switch {
	case strings.HasPrefix(rest, "//"):
		return comment, s.lineEnd(i), nil
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			return comment, 0, wrong(i, "unclosed comment")
		}
		return comment, i + 2 + end + 2, nil
	case strings.HasPrefix(rest, "=="), strings.HasPrefix(rest, "=>"):
		return anything, i + 2, nil
	case rest[0] == '=':
		return equals, i + 1, nil
	}
	if strings.HasPrefix(rest, "<<") {
		if _, _, ok := s.heredoc(i); !ok {
			return heredoc, 0, wrong(i, "a heredoc needs << and a name at the end of the line")
		}
		end, p := s.template(i)
		return heredoc, end, p
	}
	if end := s.identEnd(i); end > i {
		return ident, end, nil
	}
	if strings.IndexByte("0123456789.*/%+-<>!?:&|~^", rest[0]) < 0 {
		return anything, 0, s.invalid(i)
	}
	return anything, i + 1, nil
}

// invalid returns the problem with the character at i.
func (s *scanner) invalid(i int) *ParseError {
	r, size := utf8.DecodeRuneInString(s.src[i:])
	switch {
	case r == utf8.RuneError && size == 1:
		return wrong(i, "text is not encoded in UTF-8")
	case r == '\'' || r == '“' || r == '”':
		return wrong(i, "unexpected %q, want double quotes", r)
	}
	return wrong(i, "unexpected character %q", r)
}

// lineEnd returns the end of a line comment, before the line break.
func (s *scanner) lineEnd(i int) int {
	line, _, ended := strings.Cut(s.src[i:], "\n")
	if ended {
		line = strings.TrimSuffix(line, "\r")
	}
	return i + len(line)
}

// identEnd returns the end of the identifier at i, or i if there is none.
func (s *scanner) identEnd(i int) int {
	for n, r := range s.src[i:] {
		if !identRune(r, n == 0) {
			return i + n
		}
	}
	return len(s.src)
}

// identRune reports whether r can be in an identifier: Unicode Annex 31, "_" and "-".
func identRune(r rune, first bool) bool {
	if r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start) {
		return true
	}
	return !first && (r == '-' || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue))
}
