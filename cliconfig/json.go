package cliconfig

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

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
