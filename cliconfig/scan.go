package cliconfig

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/hcl/scanner"
	hclstrconv "github.com/hashicorp/hcl/hcl/strconv"
	"github.com/hashicorp/hcl/hcl/token"
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
	items, err = newParser(src).items(lexeme{kind: token.EOF})
	return items, false, err
}

// The native syntax is HCL 1. It has no line structure: several arguments can be in one line. The
// scanner is the library's, as in the CLI. Its parser is used only as the oracle of the tests: it
// panics on some files, for example with the string "\400", recurses without a limit, and repeats
// its input in errors, which can be a token.

// A lexeme is a token of the native syntax.
type lexeme struct {
	kind token.Type
	at   int
	text string // the content of a string or heredoc, any other token as written
}

// A parser reads the native syntax. Its recursion is limited by maxDepth.
type parser struct {
	scanner *scanner.Scanner
	invalid string // the first error of the scanner
	depth   int
}

func newParser(src string) *parser {
	p := &parser{scanner: scanner.New([]byte(src))}
	p.scanner.Error = func(_ token.Pos, message string) { p.invalid = cmp.Or(p.invalid, message) }
	return p
}

// next returns the next token that is not a comment. At the end of the source, its kind is token.EOF.
func (p *parser) next() (lexeme, error) {
	t := p.scanner.Scan()
	for t.Type == token.COMMENT && p.invalid == "" {
		t = p.scanner.Scan()
	}
	l := lexeme{t.Type, t.Pos.Offset, t.Text}
	if t.Type == token.STRING && p.invalid == "" {
		var err error
		if l.text, err = hclstrconv.Unquote(t.Text); err != nil {
			p.invalid = badEscape
		}
	}
	switch {
	case p.invalid == badEscape:
		return l, syntaxError(l.at, `invalid escape sequence in the string; write \\ for a backslash`)
	case p.invalid != "":
		return l, syntaxError(l.at, p.invalid)
	case t.Type == token.HEREDOC:
		l.text = t.Value().(string)
	}
	return l, nil
}

// badEscape is the error of the scanner for an escape sequence.
const badEscape = "illegal char escape"

// items reads items up to the end of the file, or to the closing brace of open, a token of another kind
// than EOF. The error is a *problemAt.
func (p *parser) items(open lexeme) ([]item, error) {
	var items []item
	comma := true // the next token cannot be a comma
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
		it, err := p.item(t)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
		comma = false
	}
}

// item reads an argument or a block, of which t is the first name.
func (p *parser) item(t lexeme) (it item, err error) {
	for t.kind == token.IDENT || t.kind == token.STRING {
		it.names = append(it.names, name{t.text, t.at})
		if t, err = p.next(); err != nil {
			return item{}, err
		}
	}
	switch {
	case t.kind == token.LBRACE:
	case t.kind != token.ASSIGN:
		return item{}, syntaxError(t.at, "expected an equals sign or an opening brace")
	case len(it.names) > 1:
		return item{}, syntaxError(t.at, "an argument has one name, and a block has no equals sign")
	default:
		it.equals = true
		if t, err = p.next(); err != nil {
			return item{}, err
		}
	}
	it.value, err = p.value(t)
	return it, err
}

// value reads the value that starts with t.
func (p *parser) value(t lexeme) (value, error) {
	v := value{at: t.at, text: t.text}
	var err error
	switch t.kind {
	case token.STRING, token.HEREDOC:
		v.kind = text
	case token.NUMBER, token.FLOAT:
		v.kind = number
	case token.BOOL:
		v.kind = boolean
	case token.LBRACE, token.LBRACK:
		if p.depth == maxDepth {
			return v, syntaxError(t.at, tooDeep)
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
