package auth

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A Netrc has the user names and passwords of web servers, in the format that curl and git
// read from ~/.netrc (_netrc on Windows):
//
//	machine modules.example.com login alice password "two words"
//	machine modules.example.com:8443
//	    login alice
//	    password secret  # a comment
//
// The CLI uses these passwords only for archives of modules: [Netrc.Lookup] suits ModuleCredentials
// of [github.com/tofureg/tofureg/regclient.Client].
//
// A Netrc is safe for concurrent use. Values with spaces need double quotes; in them, a backslash
// escapes \", \\, \n, \r and \t. The port is 443 unless stated.
//
// Unknown words, macros, the entry default, and entries without a password or with another protocol
// than https are ignored. So are malformed entries, with a warning. Of the others, the first for a host counts.
type Netrc struct {
	// A function, so that its content is not printed.
	lookup   func(svchost.Hostname) (login, bool)
	warnings []error
}

// A login is the entry of a host.
type login struct {
	user     string
	password Password
}

const (
	maxNetrc         = 1 << 20 // bytes of the file
	maxNetrcWarnings = 50      // each counts lines from the start of the file
)

// LoadNetrc reads a netrc file of at most 1 MiB. A missing file is empty.
func LoadNetrc(path string) (*Netrc, error) {
	text, err := readFile(path, maxNetrc)
	if err != nil {
		return nil, err
	}
	return parseNetrc(path, text), nil
}

// ParseNetrc reads the text of a netrc file.
func ParseNetrc(text []byte) *Netrc { return parseNetrc("", text) }

func parseNetrc(path string, text []byte) *Netrc {
	p := &netrcParser{path: path, text: text, logins: map[svchost.Hostname]login{}}
	for p.skipComments(); p.at < len(p.text); p.skipComments() {
		p.statement()
	}
	p.finish()
	lookup := func(host svchost.Hostname) (login, bool) {
		found, ok := p.logins[host]
		return found, ok
	}
	return &Netrc{lookup: lookup, warnings: p.warnings}
}

// Warnings returns why entries are malformed, in the order of the file, at most 50.
func (n *Netrc) Warnings() []error {
	if n == nil {
		return nil
	}
	return slices.Clone(n.warnings)
}

// Lookup returns the entry for this host and port. The user name can be "". A nil or zero Netrc
// is empty.
func (n *Netrc) Lookup(host svchost.Hostname) (user string, password Password, ok bool) {
	if n == nil || n.lookup == nil {
		return "", Password{}, false
	}
	found, ok := n.lookup(host)
	return found.user, found.password, ok
}

// netrcKeywords are the keywords with a value.
var netrcKeywords = []string{"machine", "login", "password", "passwd", "account", "port", "protocol", "macdef"}

// A netrcParser reads the text of a netrc file.
type netrcParser struct {
	path      string
	text      []byte
	at        int
	entry     map[string]string // values of the current entry by keyword, or nil if it is not recorded
	malformed bool              // the current entry
	logins    map[svchost.Hostname]login
	warnings  []error
}

// statement reads a keyword and its value, or an unknown word.
func (p *netrcParser) statement() {
	start := p.at
	keyword, ok := p.word()
	keyword = strings.ToLower(keyword)
	switch {
	case !ok:
		return
	case keyword == "default":
		p.begin(nil)
		return
	case !slices.Contains(netrcKeywords, keyword):
		return // as in curl, the next word can be a keyword
	case keyword == "machine":
		p.begin(map[string]string{}) // also if its name is malformed
	}
	if p.skipSpace(); p.at == len(p.text) {
		p.warn(start, "missing value")
		return
	}
	value, ok := p.word()
	switch {
	case !ok:
	case keyword == "macdef":
		p.skipMacro()
	case p.entry == nil:
	case keyword == "passwd":
		p.entry["password"] = value
	default:
		p.entry[keyword] = value
	}
}

// begin finishes the current entry and begins another one. If values is nil, it is not recorded.
func (p *netrcParser) begin(values map[string]string) {
	p.finish()
	p.entry, p.malformed = values, false
}

// warn makes the current entry malformed.
func (p *netrcParser) warn(offset int, reason string) {
	if !p.malformed && len(p.warnings) < maxNetrcWarnings {
		p.warnings = append(p.warnings, syntaxError(p.path, p.text, offset, errors.New(reason)))
	}
	p.malformed = true
}

// finish records the current entry, unless it is ignored or its host already has an entry.
func (p *netrcParser) finish() {
	password, ok := p.entry["password"]
	name, protocol := p.entry["machine"], p.entry["protocol"]
	if port := p.entry["port"]; port != "" {
		name += ":" + port
	}
	host, err := svchost.FromWire(name)
	if !ok || p.malformed || err != nil || protocol != "" && !strings.EqualFold(protocol, "https") {
		return
	}
	if _, known := p.logins[host]; !known {
		p.logins[host] = login{p.entry["login"], NewPassword(password)}
	}
}

func (p *netrcParser) skipSpace() {
	p.at = len(p.text) - len(bytes.TrimLeft(p.text[p.at:], space))
}

// skipComments skips white space and comments.
func (p *netrcParser) skipComments() {
	for p.skipSpace(); bytes.HasPrefix(p.text[p.at:], []byte("#")); p.skipSpace() {
		p.line()
	}
}

// skipMacro skips all lines up to the next empty line.
func (p *netrcParser) skipMacro() {
	p.line()
	for len(bytes.TrimRight(p.line(), "\r")) > 0 {
	}
}

// line reads the rest of the line and skips its end.
func (p *netrcParser) line() []byte {
	line, _, _ := bytes.Cut(p.text[p.at:], []byte("\n"))
	p.at = min(p.at+len(line)+1, len(p.text))
	return line
}

// word reads the word at the current position. If it is malformed, ok is false, and its line is read.
func (p *netrcParser) word() (word string, ok bool) {
	rest := p.text[p.at:]
	if rest[0] == '"' {
		return p.quoted()
	}
	end := bytes.IndexAny(rest, space)
	if end < 0 {
		end = len(rest)
	}
	p.at += end
	return string(rest[:end]), true
}

// quoted reads a word in double quotes.
func (p *netrcParser) quoted() (word string, ok bool) {
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text) && p.text[p.at] != '\n'; p.at++ {
		c := p.text[p.at]
		if c == '"' {
			p.at++
			return b.String(), true
		}
		if c == '\\' && p.at+1 < len(p.text) && p.text[p.at+1] != '\n' {
			p.at++
			c = p.text[p.at]
			if i := strings.IndexByte("nrt", c); i >= 0 {
				c = "\n\r\t"[i]
			}
		}
		b.WriteByte(c)
	}
	p.warn(start, "the quoted value is not closed in its line")
	return "", false
}
