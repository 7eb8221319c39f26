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
// escapes \", \\, \n, \r and \t.
//
// The port is 443 unless stated. Macros, the entry default, and entries without a password or with
// another protocol than https are ignored. Of the others, the first for a host counts.
type Netrc struct {
	// A function, so that its content is not printed.
	lookup func(svchost.Hostname) (login, bool)
}

// A login is the entry of a host.
type login struct {
	user     string
	password Password
}

// maxNetrc is the maximum size of the file in bytes.
const maxNetrc = 1 << 20

// LoadNetrc reads a netrc file of at most 1 MiB. A missing file is empty. The error for an invalid
// file is a [*SyntaxError].
func LoadNetrc(path string) (*Netrc, error) {
	text, err := readFile(path, maxNetrc)
	if err != nil {
		return nil, err
	}
	return parseNetrc(path, text)
}

// ParseNetrc reads the text of a netrc file. The error is a [*SyntaxError].
func ParseNetrc(text []byte) (*Netrc, error) { return parseNetrc("", text) }

func parseNetrc(path string, text []byte) (*Netrc, error) {
	p := &netrcParser{path: path, text: text, logins: map[svchost.Hostname]login{}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return &Netrc{lookup: func(host svchost.Hostname) (login, bool) {
		found, ok := p.logins[host]
		return found, ok
	}}, nil
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
	path   string
	text   []byte
	at     int
	entry  map[string]string // values of the current entry by keyword, or nil before the first
	logins map[svchost.Hostname]login
}

func (p *netrcParser) parse() error {
	for p.skipComments(); p.at < len(p.text); p.skipComments() {
		if err := p.statement(); err != nil {
			return err
		}
	}
	p.finish()
	return nil
}

// statement reads a keyword and its value.
func (p *netrcParser) statement() error {
	start := p.at
	keyword, err := p.word()
	if err != nil {
		return err
	}
	keyword = strings.ToLower(keyword)
	if keyword == "default" {
		p.finish()
		p.entry = map[string]string{}
		return nil
	}
	if !slices.Contains(netrcKeywords, keyword) {
		return syntaxError(p.path, p.text, start, errors.New("expected a keyword such as machine or login; a value with spaces needs double quotes"))
	}
	if p.skipSpace(); p.at == len(p.text) {
		return syntaxError(p.path, p.text, start, errors.New("missing value"))
	}
	value, err := p.word()
	switch {
	case err != nil:
		return err
	case keyword == "macdef":
		p.skipMacro()
	case keyword == "machine":
		p.finish()
		p.entry = map[string]string{keyword: value}
	case p.entry == nil:
		return syntaxError(p.path, p.text, start, errors.New("expected the keyword machine first"))
	case keyword == "passwd":
		p.entry["password"] = value
	default:
		p.entry[keyword] = value
	}
	return nil
}

// finish records the current entry, unless it is ignored or its host already has an entry.
func (p *netrcParser) finish() {
	password, ok := p.entry["password"]
	name, protocol := p.entry["machine"], p.entry["protocol"]
	if port := p.entry["port"]; port != "" {
		name += ":" + port
	}
	host, err := svchost.FromWire(name)
	if !ok || err != nil || protocol != "" && !strings.EqualFold(protocol, "https") {
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

// word reads the word at the current position.
func (p *netrcParser) word() (string, error) {
	rest := p.text[p.at:]
	if rest[0] == '"' {
		return p.quoted()
	}
	end := bytes.IndexAny(rest, space)
	if end < 0 {
		end = len(rest)
	}
	p.at += end
	return string(rest[:end]), nil
}

// quoted reads a word in double quotes.
func (p *netrcParser) quoted() (string, error) {
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text) && p.text[p.at] != '\n'; p.at++ {
		c := p.text[p.at]
		if c == '"' {
			p.at++
			return b.String(), nil
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
	return "", syntaxError(p.path, p.text, start, errors.New("the quoted value is not closed in its line"))
}
