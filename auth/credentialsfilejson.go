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
	errNotJSON = errors.New("not valid JSON") // the reason of encoding/json shows a character, which may be one of a token
)

// A document is a credentials file: its members and those of its "credentials". The values
// are kept as they are written, so that numbers lose no digits.
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

// names reports whether name, of an entry, means host.
func names(name string, host svchost.Hostname) bool {
	h, err := svchost.FromWire(name)
	return err == nil && h == host
}

// token returns the token of host.
func (d *document) token(host svchost.Hostname) (Token, error) {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(d.entries))) {
		if !names(name, host) {
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

// save puts token in the place of all entries of host.
func (d *document) save(host svchost.Hostname, token Token) {
	d.forget(host)
	d.entries[host.Display()] = member{RawMessage: credentials(token)}
}

// forget removes the entries of host and reports whether there were any.
func (d *document) forget(host svchost.Hostname) bool {
	before := len(d.entries)
	maps.DeleteFunc(d.entries, func(name string, _ member) bool { return names(name, host) })
	return len(d.entries) < before
}

// text returns the whole file in the form in which the CLI writes it.
func (d *document) text() []byte {
	d.members[credentialsName] = member{RawMessage: encode(d.entries, "")}
	return encode(d.members, "  ")
}
