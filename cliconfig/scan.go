package cliconfig

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Both syntaxes are parsed into items. Offsets are in the text of the file, in which \r\n is
// replaced by \n.

type kind string

const (
	object  kind = "a block"
	list    kind = "a list"
	text    kind = "a string"
	number  kind = "a number"
	boolean kind = "true or false"
	null    kind = "null"
)

// A value is the value of an argument, or the body of a block.
type value struct {
	kind kind
	at   int
	text string  // of a string; a number or a boolean as written
	body []item  // of an object
	list []value // of a list
}

// An item is an argument or a block.
type item struct {
	names  []name // the name, then the labels
	equals bool   // the item has an equals sign, or is in JSON
	value  value
}

// A name is a name, a label, or an element of a list of strings.
type name struct {
	text string
	at   int
}

func (it item) name() string { return it.names[0].text }
func (it item) at() int      { return it.names[0].at }

// is reports whether the item has the name of a setting, in any case.
func (it item) is(setting string) bool { return strings.EqualFold(it.name(), setting) }

// objects reports whether v is a list of objects, which is a repeated block in JSON.
func (v value) objects() bool {
	return v.kind == list && len(v.list) > 0 && !slices.ContainsFunc(v.list, func(e value) bool { return e.kind != object })
}

// A problemAt is a problem at an offset.
type problemAt struct {
	at   int
	text string
}

func (p *problemAt) Error() string { return p.text }

func syntaxError(at int, text string) error { return &problemAt{at, text} }

// maxDepth is the maximum number of nested blocks and lists.
const maxDepth = 64

const tooDeep = "blocks and lists are nested too deeply"

// parse reads the syntax of a file. As in the CLI, the content determines which syntax it is.
// The error is a *problemAt.
func parse(src string) (items []item, json bool, err error) {
	for i, c := range src {
		if _, size := utf8.DecodeRuneInString(src[i:]); c == utf8.RuneError && size == 1 {
			return nil, false, syntaxError(i, "the file is not encoded in UTF-8")
		}
		if c == 0 {
			return nil, false, syntaxError(i, "the file contains a null character")
		}
	}
	if strings.HasPrefix(src, "\ufeff") {
		return nil, false, syntaxError(0, "the file starts with a byte order mark, which the CLI does not accept; save it as UTF-8 without one")
	}
	if strings.HasPrefix(strings.TrimSpace(src), "{") {
		items, err = parseJSON(src)
		return items, true, err
	}
	items, err = (&parser{src: src}).items(lexeme{kind: atEOF})
	return items, false, err
}

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

// A parser reads the native syntax. Its recursion is limited by maxDepth.
type parser struct {
	src   string
	pos   int
	depth int
}

// next returns the next token. At the end of the source, its kind is atEOF.
func (p *parser) next() (lexeme, error) {
	if err := p.skip(); err != nil {
		return lexeme{}, err
	}
	at := p.pos
	if at == len(p.src) {
		return lexeme{kind: atEOF, at: at}, nil
	}
	c := p.src[at]
	if end := p.identEnd(at); end > at {
		p.pos = end
		t := lexeme{ident, at, p.src[at:end]}
		if t.text == "true" || t.text == "false" {
			t.kind = truth
		}
		return t, nil
	}
	switch c {
	case '{', '}', '[', ']', '=', ',':
		p.pos++
		return lexeme{punct, at, p.src[at:p.pos]}, nil
	case '"':
		content, err := p.quoted()
		return lexeme{quoted, at, content}, err
	case '<':
		content, err := p.heredoc()
		return lexeme{heredoc, at, content}, err
	}
	if end := p.numberEnd(at); end > at {
		p.pos = end
		return lexeme{numeral, at, p.src[at:end]}, nil
	}
	return lexeme{}, syntaxError(at, "unexpected character")
}

// skip skips white space and comments.
func (p *parser) skip() error {
	for p.pos < len(p.src) {
		rest := p.src[p.pos:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.pos++
		case rest[0] == '#' || strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return syntaxError(p.pos, "the comment is not closed")
			}
			p.pos += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

// identEnd returns the end of the identifier at i, or i if there is no identifier.
func (p *parser) identEnd(i int) int {
	start := i
	for i < len(p.src) {
		r, size := utf8.DecodeRuneInString(p.src[i:])
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
func (p *parser) numberEnd(i int) int {
	end := i + len(numberPattern.FindString(p.src[i:]))
	if r, _ := utf8.DecodeRuneInString(p.src[end:]); end > i && letter(r) {
		return i
	}
	return end
}

// quoted reads the string in double quotes at the current position. The text between ${
// and }, including quotes and line breaks, stays as it is.
func (p *parser) quoted() (string, error) {
	start := p.pos
	p.pos++
	var b strings.Builder
	braces := 0
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == '"' && braces == 0:
			p.pos++
			return b.String(), nil
		case c == '\n' && braces == 0:
			return "", syntaxError(start, "the string is not closed in its line")
		case c == '\\':
			r, multibyte, tail, err := strconv.UnquoteChar(p.src[p.pos:], '"')
			if err != nil {
				return "", syntaxError(p.pos, `invalid escape sequence; write \\ for a backslash`)
			}
			end := len(p.src) - len(tail)
			switch {
			case braces > 0:
				b.WriteString(p.src[p.pos:end])
			case multibyte:
				b.WriteRune(r)
			default:
				b.WriteByte(byte(r))
			}
			p.pos = end
			continue
		case braces == 0 && strings.HasPrefix(p.src[p.pos:], "${"):
			b.WriteByte(c)
			p.pos++
			braces++
		case braces > 0 && c == '{':
			braces++
		case braces > 0 && c == '}':
			braces--
		}
		b.WriteByte(p.src[p.pos])
		p.pos++
	}
	return "", syntaxError(start, "the string is not closed")
}

// heredoc reads the string from << at the current position to the line with its marker.
func (p *parser) heredoc() (string, error) {
	start := p.pos
	head, ok := strings.CutPrefix(p.src[start:], "<<")
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
			p.pos = len(p.src) - len(body) + from + end + 1
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

// items reads items up to the end of the file, or to the closing brace of open. The error is a *problemAt.
func (p *parser) items(open lexeme) ([]item, error) {
	var items []item
	for {
		t, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case t.kind == atEOF && open.kind == atEOF, t.is("}") && open.kind != atEOF:
			return items, nil
		case t.kind == atEOF:
			return nil, syntaxError(open.at, "the block is not closed")
		case t.kind != ident && t.kind != quoted:
			return nil, syntaxError(t.at, "expected a name")
		}
		it, err := p.item(t)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
		before := p.pos
		if t, err = p.next(); err != nil {
			return nil, err
		}
		if !t.is(",") { // it is optional
			p.pos = before
		}
	}
}

// item reads an argument or a block, of which t is the first name.
func (p *parser) item(t lexeme) (item, error) {
	var it item
	for {
		switch {
		case t.kind == ident || t.kind == quoted:
			it.names = append(it.names, name{t.text, t.at})
		case t.is("=") && len(it.names) > 1:
			return item{}, syntaxError(t.at, "an argument has one name, and a block has no equals sign")
		case t.is("="):
			it.equals = true
			first, err := p.next()
			if err == nil {
				it.value, err = p.value(first)
			}
			return it, err
		case t.is("{"):
			var err error
			it.value, err = p.value(t)
			return it, err
		default:
			return item{}, syntaxError(t.at, "expected an equals sign or an opening brace")
		}
		var err error
		if t, err = p.next(); err != nil {
			return item{}, err
		}
	}
}

// value reads the value that starts with t.
func (p *parser) value(t lexeme) (value, error) {
	v := value{at: t.at, text: t.text}
	var err error
	switch {
	case t.kind == quoted || t.kind == heredoc:
		v.kind = text
	case t.kind == numeral:
		v.kind = number
	case t.kind == truth:
		v.kind = boolean
	case p.depth == maxDepth:
		err = syntaxError(t.at, tooDeep)
	case t.is("{"):
		p.depth++
		v.kind = object
		v.body, err = p.items(t)
		p.depth--
	case t.is("["):
		p.depth++
		v.kind = list
		v.list, err = p.elements(t)
		p.depth--
	default:
		err = syntaxError(t.at, "expected a value: a string in double quotes, a number, true, false, a list or a block")
	}
	return v, err
}

// elements reads a list up to its closing bracket. Extra commas are permitted.
func (p *parser) elements(open lexeme) ([]value, error) {
	var elements []value
	comma := true
	for {
		t, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case t.is("]"):
			return elements, nil
		case t.is(","):
			comma = true
			continue
		case t.kind == atEOF:
			return nil, syntaxError(open.at, "the list is not closed")
		case !comma:
			return nil, syntaxError(t.at, "expected a comma between two elements of a list")
		}
		v, err := p.value(t)
		if err != nil {
			return nil, err
		}
		elements = append(elements, v)
		comma = v.kind == list // as in HCL 1
	}
}

// A jsonParser reads the JSON syntax. It decodes tokens to limit the depth and to know
// their offsets.
type jsonParser struct {
	src   string
	dec   *json.Decoder
	depth int
}

// parseJSON returns the members of the top-level object. A member that is a list of
// objects is a repeated block. The error is a *problemAt.
func parseJSON(src string) ([]item, error) {
	p := &jsonParser{src: src, dec: json.NewDecoder(strings.NewReader(src))}
	p.dec.UseNumber()
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	end := int(p.dec.InputOffset())
	if rest := strings.TrimLeft(src[end:], " \t\r\n"); rest != "" {
		return nil, syntaxError(len(src)-len(rest), "text after the top-level JSON object")
	}
	return v.body, nil
}

// token returns the next token and its offset.
func (p *jsonParser) token() (json.Token, int, error) {
	at := len(p.src) - len(strings.TrimLeft(p.src[p.dec.InputOffset():], " \t\r\n,:"))
	t, err := p.dec.Token()
	if err == nil {
		return t, at, nil
	}
	// The text of the decoder's error can contain parts of the file.
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(max(int(e.Offset)-1, 0), len(p.src))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, at, syntaxError(at, "the file ends before its JSON object does")
	}
	return nil, at, syntaxError(at, "invalid JSON")
}

func (p *jsonParser) value() (value, error) {
	t, at, err := p.token()
	if err != nil {
		return value{}, err
	}
	v := value{at: at}
	switch t := t.(type) {
	case string:
		v.kind, v.text = text, t
	case json.Number:
		v.kind, v.text = number, t.String()
	case bool:
		v.kind, v.text = boolean, strconv.FormatBool(t)
	case nil:
		v.kind = null
	case json.Delim:
		if p.depth == maxDepth {
			return v, syntaxError(at, tooDeep)
		}
		p.depth++
		defer func() { p.depth-- }()
		if t == '{' {
			v.kind = object
			v.body, err = p.members()
		} else {
			v.kind = list
			v.list, err = p.elements()
		}
	}
	return v, err
}

func (p *jsonParser) members() ([]item, error) {
	var items []item
	for p.dec.More() {
		t, at, err := p.token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string) // the decoder accepts only strings as keys
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		if !v.objects() {
			items = append(items, item{names: []name{{key, at}}, equals: true, value: v})
			continue
		}
		for _, v := range v.list {
			items = append(items, item{names: []name{{key, v.at}}, equals: true, value: v})
		}
	}
	_, _, err := p.token()
	return items, err
}

func (p *jsonParser) elements() ([]value, error) {
	var elements []value
	for p.dec.More() {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		elements = append(elements, v)
	}
	_, _, err := p.token()
	return elements, err
}
