package lockfile

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The scanner reads the tokens of the native syntax of HCL,
// https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md, without heredocs and
// interpolations, which no lock file has. The HCL library, which the tests compare it with,
// holds all tokens in memory and recurses without limit.

const byteOrderMark = "\ufeff"

type kind byte

const (
	atEOF kind = iota
	newline
	comment
	ident
	quoted   // a string literal
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
	rest := s.src[i:]
	switch c := rest[0]; {
	case c == '"':
		end, p := s.quoted(i)
		return quoted, end, p
	case c == '\n':
		return newline, i + 1, nil
	case strings.HasPrefix(rest, "\r\n"):
		return newline, i + 2, nil
	case c == '#', strings.HasPrefix(rest, "//"):
		line, _, ended := strings.Cut(rest, "\n")
		if ended {
			line = strings.TrimSuffix(line, "\r")
		}
		return comment, i + len(line), nil
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			return comment, 0, wrong(i, "unclosed comment")
		}
		return comment, i + 2 + end + 2, nil
	case c == '{' || c == '[' || c == '(':
		return opening, i + 1, nil
	case c == '}' || c == ']' || c == ')':
		return closing, i + 1, nil
	case c == ',':
		return comma, i + 1, nil
	case strings.HasPrefix(rest, "=="), strings.HasPrefix(rest, "=>"):
		return anything, i + 2, nil
	case c == '=':
		return equals, i + 1, nil
	case strings.HasPrefix(rest, "<<"):
		return anything, 0, wrong(i, "a heredoc is not allowed in a lock file")
	}
	end := i
	for n, r := range rest {
		if !identRune(r, n == 0) {
			break
		}
		end = i + n + utf8.RuneLen(r)
	}
	switch {
	case end > i:
		return ident, end, nil
	case strings.IndexByte("0123456789.*/%+-<>!?:&|~^", rest[0]) < 0:
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

// identRune reports whether r can be in an identifier: Unicode Annex 31, "_" and "-".
func identRune(r rune, first bool) bool {
	if r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start) {
		return true
	}
	return !first && (r == '-' || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue))
}

// quoted returns the end of the quoted text at start.
func (s *scanner) quoted(start int) (end int, p *ParseError) {
	for i := start + 1; i < len(s.src); {
		switch c := s.src[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9': // almost all characters of a lock file
			i++
		case c == '"':
			return i + 1, nil
		case c == '\n' || c == '\r':
			return 0, wrong(i, "quoted text is not closed in this line")
		case c == '\\' && i+1 < len(s.src) && strings.IndexByte(`"\$%`, s.src[i+1]) >= 0:
			i += 2
		case escapedSign(s.src[i:]):
			i += 3
		case (c == '$' || c == '%') && strings.HasPrefix(s.src[i+1:], "{"):
			return 0, wrong(i, "expressions in texts are not allowed in a lock file; a literal %q is written %q", s.src[i:i+2], s.src[i:i+1]+s.src[i:i+2])
		default:
			r, size := utf8.DecodeRuneInString(s.src[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, s.invalid(i)
			}
			i += size
		}
	}
	return 0, wrong(start, "unclosed text")
}

// escapedSign reports whether s starts with "$${" or "%%{", which stand for "${" and "%{".
func escapedSign(s string) bool {
	return strings.HasPrefix(s, "$${") || strings.HasPrefix(s, "%%{")
}

// unquote returns the value of t, which is quoted.
func (s *scanner) unquote(t token) (string, *ParseError) {
	body := s.src[t.start+1 : t.end-1]
	if !strings.ContainsAny(body, `\$%`) {
		return body, nil
	}
	var b strings.Builder
	for i := 0; i < len(body); {
		switch {
		case escapedSign(body[i:]):
			b.WriteString(body[i+1 : i+3])
			i += 3
		case body[i] == '\\':
			if i+1 == len(body) || !strings.Contains(`nrt"\uU`, body[i+1:i+2]) {
				return "", wrong(t.start+1+i, "invalid escape sequence in a text")
			}
			r, _, rest, err := strconv.UnquoteChar(body[i:], '"')
			if err != nil {
				return "", wrong(t.start+1+i, "invalid escape sequence in a text")
			}
			b.WriteRune(r)
			i = len(body) - len(rest)
		default:
			b.WriteByte(body[i])
			i++
		}
	}
	return b.String(), nil
}
