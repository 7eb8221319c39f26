package cliconfig

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The native syntax is HCL 1, as in the CLI. It has no line structure: several arguments
// can be in one line. The HCL 1 library is used only as the oracle of the tests: it panics
// on some files, for example with the string "\400", recurses without a limit, and repeats
// its input in errors, which can be a token.

type tokenKind byte

const (
	atEOF tokenKind = iota
	ident
	quoted
	heredoc
	numeral
	truth
	punct // one of { } [ ] = ,
)

type lexeme struct {
	kind tokenKind
	at   int
	text string // an identifier, a number or punctuation as written; the content of a string
}

func (t lexeme) is(c string) bool { return t.kind == punct && t.text == c }

type scanner struct {
	src string
	pos int
}

func syntaxError(at int, text string) error { return &problemAt{at, text} }

// next returns the next token. At the end of the source, its kind is atEOF.
func (s *scanner) next() (lexeme, error) {
	if err := s.skip(); err != nil {
		return lexeme{}, err
	}
	at := s.pos
	if at == len(s.src) {
		return lexeme{kind: atEOF, at: at}, nil
	}
	c := s.src[at]
	if end := s.identEnd(at); end > at {
		s.pos = end
		t := lexeme{ident, at, s.src[at:end]}
		if t.text == "true" || t.text == "false" {
			t.kind = truth
		}
		return t, nil
	}
	switch c {
	case '{', '}', '[', ']', '=', ',':
		s.pos++
		return lexeme{punct, at, s.src[at:s.pos]}, nil
	case '"':
		content, err := s.quoted()
		return lexeme{quoted, at, content}, err
	case '<':
		content, err := s.heredoc()
		return lexeme{heredoc, at, content}, err
	}
	if end := s.numberEnd(at); end > at {
		s.pos = end
		return lexeme{numeral, at, s.src[at:end]}, nil
	}
	return lexeme{}, syntaxError(at, "unexpected character")
}

// skip skips white space and comments.
func (s *scanner) skip() error {
	for s.pos < len(s.src) {
		rest := s.src[s.pos:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			s.pos++
		case rest[0] == '#' || strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			s.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return syntaxError(s.pos, "the comment is not closed")
			}
			s.pos += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

// identEnd returns the end of the identifier at i, or i if there is no identifier.
func (s *scanner) identEnd(i int) int {
	start := i
	for i < len(s.src) {
		r, size := utf8.DecodeRuneInString(s.src[i:])
		if !letter(r) && (i == start || !digit(r) && r != '-' && r != '.') {
			break
		}
		i += size
	}
	return i
}

func letter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_' || r >= utf8.RuneSelf && unicode.IsLetter(r)
}

func digit(r rune) bool {
	return '0' <= r && r <= '9' || r >= utf8.RuneSelf && unicode.IsDigit(r)
}

var numberPattern = regexp.MustCompile(`^(-?0[xX][0-9a-fA-F]+|(-?[0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)`)

// numberEnd returns the end of the number at i, or i if there is no number. A number
// followed by a letter is invalid here; the library splits it.
func (s *scanner) numberEnd(i int) int {
	end := i + len(numberPattern.FindString(s.src[i:]))
	if r, _ := utf8.DecodeRuneInString(s.src[end:]); end > i && letter(r) {
		return i
	}
	return end
}
