package disco

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// A document is a discovery document with unchecked values.
type document struct {
	base     *url.URL // of the document, without user information, query and fragment
	services object
	size     int  // in bytes
	overHTTP bool // the network may have chosen the services
}

// An object is a JSON object. Its keys are case-sensitive, unlike in encoding/json.
type object map[string]member

type member struct {
	raw       json.RawMessage
	ambiguous bool  // the object has two different values for the key
	err       error // of encoding a value of NewServices
}

func parseDocument(final *url.URL, data []byte) (document, error) {
	if len(data) > maxDocument {
		return document{}, fmt.Errorf("%w: the document exceeds %d bytes", failure.ErrTooLarge, maxDocument)
	}
	services, err := parseObject(data)
	if err != nil {
		return document{}, err
	}
	base := *final
	base.User, base.RawQuery, base.ForceQuery, base.Fragment, base.RawFragment = nil, "", false, "", ""
	return document{base: &base, services: services, size: len(data), overHTTP: base.Scheme != "https"}, nil
}

// parseObject parses data, which must be one JSON object.
func parseObject(data []byte) (object, error) {
	var whole json.RawMessage
	if err := httpx.DecodeJSON(data, &whole); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(whole))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, fmt.Errorf("want a JSON object, not %s", kind(whole))
	}
	o := object{}
	for dec.More() {
		var raw json.RawMessage
		token, err := dec.Token()
		if err == nil {
			err = dec.Decode(&raw)
		}
		if err != nil {
			return nil, err
		}
		key := token.(string)
		before, ok := o[key]
		switch {
		case ok:
			// Some parsers use the first value, others the last.
			before.ambiguous = before.ambiguous || !bytes.Equal(before.raw, raw)
			o[key] = before
		case len(o) == maxServices:
			return nil, fmt.Errorf("%w: the JSON object has more than %d members", failure.ErrTooLarge, maxServices)
		default:
			o[key] = member{raw: raw}
		}
	}
	return o, nil
}

// text returns the value of a string.
func (m member) text() (string, error) {
	if m.raw[0] != '"' {
		return "", fmt.Errorf("want a URL, not %s", kind(m.raw))
	}
	var s string
	if err := json.Unmarshal(m.raw, &s); err != nil {
		return "", err
	}
	if strings.ContainsRune(s, utf8.RuneError) {
		return "", errors.New("the value is not valid UTF-8")
	}
	return s, nil
}

// kind returns the type of a JSON value.
func kind(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// parseURL is url.Parse with further checks, without the fragment, and without secrets in errors.
func parseURL(text string) (*url.URL, error) {
	switch {
	case text == "":
		return nil, errors.New("the URL is empty")
	case text != strings.TrimSpace(text):
		return nil, errors.New("the URL begins or ends with a space")
	case strings.Contains(text, `\`):
		return nil, errors.New("the URL contains a backslash")
	case strings.ContainsFunc(text, unicode.IsControl):
		return nil, errors.New("the URL contains a control character")
	}
	u, err := url.Parse(text)
	if err != nil {
		// The outer error contains the whole URL, the inner one perhaps a part of a password.
		inner, ok := errors.AsType[*url.Error](err)
		if !ok || strings.Contains(text, "@") {
			return nil, errors.New("the URL cannot be parsed")
		}
		return nil, fmt.Errorf("the URL cannot be parsed: %s", weburl.Clean(inner.Err.Error(), maxShown))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
