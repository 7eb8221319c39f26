package cliconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/hcl/scanner"
	hclstrconv "github.com/hashicorp/hcl/hcl/strconv"
	"github.com/hashicorp/hcl/hcl/token"

	"github.com/tofureg/tofureg/failure"
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
	at int
	error
}

func (p *problemAt) Unwrap() error { return p.error }

func syntaxError(at int, text string) error { return &problemAt{at, errors.New(text)} }

func tooLarge(at int, limit string, max int) error {
	return &problemAt{at, fmt.Errorf("%w: more than %d %s", failure.ErrTooLarge, max, limit)}
}

// parse reads the syntax of a file and adds its words to the words of other files. As in the CLI, the
// content determines which syntax it is. If once is set, as in OpenTofu, an argument of the native syntax must not be
// repeated in its block. The error is a *problemAt.
func parse(src string, once bool, words *int) (items []item, json bool, err error) {
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
		items, err = parseJSON(src, words)
		return items, true, err
	}
	p := newParser(src, words)
	p.once = once
	items, err = p.items(lexeme{kind: token.EOF})
	return items, false, err
}

// A lexeme is a token of either syntax.
type lexeme struct {
	kind token.Type // null in JSON is an identifier
	at   int
	text string // the content of a string or heredoc, any other token as written; "" for null
}

// A lexer reads lexemes. The native syntax has token.EOF at the end, and JSON has neither commas nor
// colons, which its decoder checks.
type lexer interface {
	next() (lexeme, error)
}

// A nativeLexer reads HCL 1 with the scanner of the library, as the CLI does. The library's parser is
// used only as the oracle of the tests: it panics on some files, for example with the string "\400",
// recurses without a limit, and repeats its input in errors, which can be a token.
type nativeLexer struct {
	scanner *scanner.Scanner
	invalid string // the first error of the scanner
	at      int    // of invalid
	number  int    // where the last number ends
}

func (l *nativeLexer) next() (lexeme, error) {
	t := l.scanner.Scan()
	for t.Type == token.COMMENT && l.invalid == "" {
		t = l.scanner.Scan()
	}
	found := lexeme{t.Type, t.Pos.Offset, t.Text}
	switch l.invalid {
	case "":
	case "illegal char escape":
		return found, syntaxError(l.at, `invalid escape sequence in the string; write \\ for a backslash`)
	default:
		return found, syntaxError(found.at, l.invalid)
	}
	switch t.Type {
	case token.STRING:
		var err error
		if found.text, err = hclstrconv.Unquote(t.Text); err != nil {
			return found, syntaxError(found.at, "invalid string")
		}
	case token.HEREDOC:
		found.text = t.Value().(string)
	case token.NUMBER, token.FLOAT:
		l.number = found.at + len(t.Text)
	case token.IDENT, token.BOOL:
		if l.number == found.at && found.at > 0 { // such as a secret without quotes
			return found, syntaxError(found.at, "a name follows a number without a space; a text needs quotes")
		}
	}
	return found, nil
}

// A jsonLexer reads JSON.
type jsonLexer struct {
	src string
	dec *json.Decoder
}

var delimiters = map[json.Delim]token.Type{'{': token.LBRACE, '}': token.RBRACE, '[': token.LBRACK, ']': token.RBRACK}

func (l *jsonLexer) next() (lexeme, error) {
	at := len(l.src) - len(strings.TrimLeft(l.src[l.dec.InputOffset():], " \t\r\n,:"))
	t, err := l.dec.Token()
	switch t := t.(type) {
	case string:
		return lexeme{token.STRING, at, t}, nil
	case json.Number:
		return lexeme{token.NUMBER, at, t.String()}, nil
	case bool:
		return lexeme{token.BOOL, at, strconv.FormatBool(t)}, nil
	case json.Delim:
		return lexeme{delimiters[t], at, t.String()}, nil
	}
	if err == nil {
		return lexeme{token.IDENT, at, ""}, nil // null
	}
	// The text of the decoder's error can contain parts of the file.
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(max(int(e.Offset)-1, 0), len(l.src))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return lexeme{}, syntaxError(at, "the file ends before its JSON object does")
	}
	return lexeme{}, syntaxError(at, "invalid JSON")
}

// A parser reads either syntax. Its recursion is limited by maxDepth, and its memory by maxWords.
type parser struct {
	lexer
	json  bool
	once  bool // each argument of a block
	depth int
	words *int // lexemes so far
}

func (p *parser) next() (lexeme, error) {
	t, err := p.lexer.next()
	if err == nil && t.kind != token.EOF {
		*p.words++
	}
	if *p.words > maxWords {
		return t, tooLarge(t.at, "words", maxWords)
	}
	return t, err
}

// newParser returns a parser of the native syntax. It has no line structure: several arguments can be in
// one line.
func newParser(src string, words *int) *parser {
	l := &nativeLexer{scanner: scanner.New([]byte(src))}
	l.scanner.Error = func(pos token.Pos, message string) {
		if l.invalid == "" {
			l.invalid, l.at = message, pos.Offset
		}
	}
	return &parser{lexer: l, words: words}
}

// parseJSON returns the members of the top-level object. The error is a *problemAt.
func parseJSON(src string, words *int) ([]item, error) {
	l := &jsonLexer{src: src, dec: json.NewDecoder(strings.NewReader(src))}
	l.dec.UseNumber()
	v, err := (&parser{lexer: l, json: true, words: words}).nextValue()
	if err != nil {
		return nil, err
	}
	end := int(l.dec.InputOffset())
	if rest := strings.TrimLeft(src[end:], " \t\r\n"); rest != "" {
		return nil, syntaxError(len(src)-len(rest), "text after the top-level JSON object")
	}
	return v.body, nil
}

// items reads items up to the end of the file, or to the closing brace of open, a token of another kind
// than EOF. The error is a *problemAt.
func (p *parser) items(open lexeme) ([]item, error) {
	var items []item
	set := map[lexeme]bool{} // arguments, without their places
	comma := true            // the next token cannot be a comma
	for {
		t, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case t.kind == token.EOF && open.kind == token.EOF, t.kind == token.RBRACE && open.kind != token.EOF:
			return items, nil
		case t.kind == token.EOF:
			return nil, syntaxError(open.at, "the block is not closed")
		case t.kind == token.COMMA && !comma:
			comma = true
			continue
		case t.kind != token.IDENT && t.kind != token.STRING:
			return nil, syntaxError(t.at, "expected a name")
		}
		read := p.item
		if p.json {
			read = p.member
		}
		more, err := read(t)
		if err != nil {
			return nil, err
		}
		if argument := (lexeme{kind: t.kind, text: t.text}); p.once && more[0].equals {
			if set[argument] {
				return nil, syntaxError(t.at, fmt.Sprintf("the argument %s is set already", quote(t.text)))
			}
			set[argument] = true
		}
		items = append(items, more...)
		comma = false
	}
}

// item reads an argument or a block of the native syntax, of which t is the first name.
func (p *parser) item(t lexeme) ([]item, error) {
	var it item
	var err error
	for t.kind == token.IDENT || t.kind == token.STRING {
		it.names = append(it.names, name{t.text, t.at})
		if t, err = p.next(); err != nil {
			return nil, err
		}
	}
	switch {
	case t.kind == token.LBRACE:
		it.value, err = p.value(t)
	case t.kind != token.ASSIGN:
		err = syntaxError(t.at, "expected an equals sign or an opening brace")
	case len(it.names) > 1:
		err = syntaxError(t.at, "an argument has one name, and a block has no equals sign")
	default:
		it.equals = true
		it.value, err = p.nextValue()
	}
	return []item{it}, err
}

// member reads the value of a member of a JSON object. A list of objects is a repeated block.
func (p *parser) member(key lexeme) ([]item, error) {
	v, err := p.nextValue()
	if err != nil {
		return nil, err
	}
	if !v.objects() {
		return []item{{names: []name{{key.text, key.at}}, equals: true, value: v}}, nil
	}
	var items []item
	for _, v := range v.list {
		items = append(items, item{names: []name{{key.text, v.at}}, equals: true, value: v})
	}
	return items, nil
}

func (p *parser) nextValue() (value, error) {
	t, err := p.next()
	if err != nil {
		return value{}, err
	}
	return p.value(t)
}

// value reads the value that starts with t.
func (p *parser) value(t lexeme) (value, error) {
	v := value{at: t.at, text: t.text}
	var err error
	switch {
	case t.kind == token.STRING, t.kind == token.HEREDOC:
		v.kind = text
	case t.kind == token.NUMBER, t.kind == token.FLOAT:
		v.kind = number
	case t.kind == token.BOOL:
		v.kind = boolean
	case t.kind == token.IDENT && p.json:
		v.kind = null
	case t.kind == token.LBRACE, t.kind == token.LBRACK:
		if p.depth == maxDepth {
			return v, tooLarge(t.at, "nested blocks and lists", maxDepth)
		}
		p.depth++
		if t.kind == token.LBRACE {
			v.kind = object
			v.body, err = p.items(t)
		} else {
			v.kind = list
			v.list, err = p.elements(t)
		}
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
		case t.kind == token.RBRACK:
			return elements, nil
		case t.kind == token.COMMA:
			comma = true
			continue
		case t.kind == token.EOF:
			return nil, syntaxError(open.at, "the list is not closed")
		case !comma && !p.json:
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
