package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

const credentialsName = "credentials"

var errTwice = errors.New(`a second "credentials"`)

// A document is a credentials file. It keeps the spelling of all that it does
// not understand, where a decoder would lose digits, order and duplicates.
type document struct {
	source  []byte
	members []member // of the file
	entries []member // of its "credentials", by host
}

// A member is one name and its value in an object, as they are spelled.
type member struct {
	name      string // decoded
	nameText  []byte
	valueText []byte
	offset    int // of the value
}

// host returns the host that the name means; the zero Hostname if it means none.
func (m member) host() svchost.Hostname {
	host, _ := svchost.FromWire(m.name)
	return host
}

func parseDocument(text []byte) (*document, error) {
	doc := &document{source: text}
	if len(bytes.Trim(text, space)) == 0 {
		return doc, nil
	}
	var any json.RawMessage
	if err := json.Unmarshal(text, &any); err != nil {
		return nil, badJSON(text, err)
	}
	var err error
	if doc.members, err = parseObject(text, len(text)-len(bytes.TrimLeft(text, space))); err != nil {
		return nil, err
	}
	found := false
	for _, m := range doc.members {
		if m.name != credentialsName {
			continue
		}
		if found {
			return nil, syntaxError(text, m.offset, errTwice)
		}
		found = true
		if doc.entries, err = parseObject(text, m.offset); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// space is white space in JSON.
const space = " \t\r\n"

// parseObject returns the members of the object at offset in text, which is valid JSON.
func parseObject(text []byte, offset int) ([]member, error) {
	if text[offset] != '{' {
		return nil, syntaxError(text, offset, errNotObject)
	}
	dec := json.NewDecoder(bytes.NewReader(text[offset:]))
	at := func() int { return offset + int(dec.InputOffset()) }
	_, err := dec.Token()
	var list []member
	for err == nil && dec.More() {
		var m member
		var name json.Token
		before := at()
		name, err = dec.Token()
		m.name, _ = name.(string)
		m.nameText = bytes.TrimLeft(text[before:at()], ","+space)
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		m.valueText, m.offset = value, at()-len(value)
		list = append(list, m)
	}
	return list, err
}

// badJSON is the error for text that is no JSON. What encoding/json says begins
// with the character at fault, which may be one of a token.
func badJSON(text []byte, err error) error {
	offset := len(text)
	reason := err.Error()
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = int(e.Offset)
	}
	if rest, ok := strings.CutPrefix(reason, "invalid character "); ok {
		offset--
		where := rest[strings.LastIndexByte(rest, '\'')+1:]
		if reason = "unexpected character" + where; where == " exceeded max depth" {
			reason = "nested too deep"
		}
	}
	return syntaxError(text, offset, errors.New(reason))
}

// token returns the token of host.
func (d *document) token(host svchost.Hostname) (Token, error) {
	for _, m := range slices.Backward(d.entries) {
		if host.IsZero() || m.host() != host {
			continue
		}
		token, err := parseCredentials(m.valueText)
		if err != nil {
			return Token{}, syntaxError(d.source, m.offset, err)
		}
		return token, nil
	}
	return Token{}, nil
}

// hosts returns each host that has an entry once.
func (d *document) hosts() []svchost.Hostname {
	var list []svchost.Hostname
	seen := map[svchost.Hostname]bool{}
	for _, m := range d.entries {
		if host := m.host(); !host.IsZero() && !seen[host] {
			seen[host] = true
			list = append(list, host)
		}
	}
	return list
}

// save puts token in the place of the first entry of host, or at the end.
func (d *document) save(host svchost.Hostname, token Token) {
	at := slices.IndexFunc(d.entries, func(m member) bool { return m.host() == host })
	if at < 0 {
		at = len(d.entries)
	}
	d.forget(host)
	d.entries = slices.Insert(d.entries, at, member{
		name:      host.Display(),
		nameText:  []byte(quote(host.Display())),
		valueText: []byte("{\n      \"token\": " + quote(token.Reveal()) + "\n    }"),
	})
}

// forget removes the entries of host and reports whether there were any.
func (d *document) forget(host svchost.Hostname) bool {
	before := len(d.entries)
	d.entries = slices.DeleteFunc(d.entries, func(m member) bool { return !host.IsZero() && m.host() == host })
	return len(d.entries) < before
}

// text returns the whole file, laid out as the CLI does it.
func (d *document) text() []byte {
	entries := objectText(d.entries, "  ")
	members := slices.Clone(d.members)
	at := slices.IndexFunc(members, func(m member) bool { return m.name == credentialsName })
	if at < 0 {
		at = len(members)
		members = append(members, member{nameText: []byte(quote(credentialsName))})
	}
	members[at].valueText = entries
	return append(objectText(members, ""), '\n')
}

// objectText returns the object of these members; indent is that of its end.
func objectText(members []member, indent string) []byte {
	if len(members) == 0 {
		return []byte("{}")
	}
	var b bytes.Buffer
	separator := "{\n"
	for _, m := range members {
		b.WriteString(separator + indent + "  ")
		b.Write(m.nameText)
		b.WriteString(": ")
		b.Write(m.valueText)
		separator = ",\n"
	}
	b.WriteString("\n" + indent + "}")
	return b.Bytes()
}
