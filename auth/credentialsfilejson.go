package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/disco/svchost"
)

const credentialsName = "credentials"

var (
	errTwice   = errors.New(`a second "credentials"`)
	errNotJSON = errors.New("invalid JSON") // errors of encoding/json can contain a character of a token
)

// A document is a credentials file: its members, and the entries of "credentials". It keeps
// the text of values, so that numbers keep their digits.
type document struct {
	source  []byte
	members map[string]member
	entries map[string]member
}

// A member is the value of one name in an object.
type member struct {
	json.RawMessage
	offset int
}

func parseDocument(text []byte) (*document, error) {
	doc := &document{source: text, members: map[string]member{}, entries: map[string]member{}}
	text = bytes.TrimLeft(text, space)
	if len(text) == 0 {
		return doc, nil
	}
	var value json.RawMessage
	if err := json.Unmarshal(doc.source, &value); err != nil {
		offset := len(doc.source)
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			offset = int(e.Offset) - 1
		}
		return nil, syntaxError(doc.source, offset, errNotJSON)
	}
	var err error
	if doc.members, err = doc.object(len(doc.source) - len(text)); err != nil {
		return nil, err
	}
	if m, ok := doc.members[credentialsName]; ok {
		doc.entries, err = doc.object(m.offset)
	}
	return doc, err
}

// space is white space in JSON.
const space = " \t\r\n"

// object returns the members of the object at offset in the source, which is valid JSON.
func (d *document) object(offset int) (map[string]member, error) {
	if d.source[offset] != '{' {
		return nil, syntaxError(d.source, offset, errNotObject)
	}
	dec := json.NewDecoder(bytes.NewReader(d.source[offset:]))
	_, err := dec.Token()
	members := map[string]member{}
	for err == nil && dec.More() {
		var m member
		token, _ := dec.Token()
		name, _ := token.(string)
		err = dec.Decode(&m.RawMessage)
		m.offset = offset + int(dec.InputOffset()) - len(m.RawMessage)
		if _, ok := members[name]; ok && name == credentialsName {
			return nil, syntaxError(d.source, m.offset, errTwice)
		}
		members[name] = m
	}
	return members, err
}

// isNameOf reports whether the name of an entry means host.
func isNameOf(name string, host svchost.Hostname) bool {
	h, err := svchost.FromWire(name)
	return err == nil && h == host
}

// token returns the token of host.
func (d *document) token(host svchost.Hostname) (Token, error) {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(d.entries))) {
		if !isNameOf(name, host) {
			continue
		}
		m := d.entries[name]
		token, err := parseCredentials(m.RawMessage)
		if err != nil {
			err = syntaxError(d.source, m.offset, err)
		}
		return token, err
	}
	return Token{}, nil
}

// save replaces all entries of host.
func (d *document) save(host svchost.Hostname, token Token) {
	d.forget(host)
	d.entries[host.Display()] = member{RawMessage: credentials(token)}
}

// forget removes the entries of host. It returns false if there are no entries.
func (d *document) forget(host svchost.Hostname) bool {
	before := len(d.entries)
	maps.DeleteFunc(d.entries, func(name string, _ member) bool { return isNameOf(name, host) })
	return len(d.entries) < before
}

// text returns the content of the file in the format of the CLI.
func (d *document) text() []byte {
	d.members[credentialsName] = member{RawMessage: encode(d.entries, "")}
	return encode(d.members, "  ")
}
