package auth

import (
	"slices"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A Netrc has user names and passwords of web servers, as curl and git read them from ~/.netrc (_netrc on
// Windows). For its use see ModuleCredentials of [github.com/tofureg/tofureg/regclient.Client].
//
// It is safe for concurrent use. Values with spaces need double quotes, with the escapes \", \\, \n, \r and
// \t. A machine may have a port, by default 443. Unknown words, macros, the entry default, and entries that
// are malformed, have no password, or another protocol than https are ignored. Of the others, the first for a
// host counts.
type Netrc struct {
	// A function, so that its content is not printed.
	lookup func(svchost.Hostname) (login, bool)
}

// A login is the entry of a host.
type login struct {
	user     string
	password Password
}

const maxNetrc = 1 << 20 // bytes of the file

// LoadNetrc reads a file of at most 1 MiB. A missing file is empty.
func LoadNetrc(path string) (*Netrc, error) {
	text, err := readFile(path, maxNetrc)
	if err != nil {
		return nil, err
	}
	return ParseNetrc(text), nil
}

// ParseNetrc reads the text of a file.
func ParseNetrc(text []byte) *Netrc {
	p := &netrcParser{rest: string(text), logins: map[svchost.Hostname]login{}}
	for p.skipComments(); p.rest != ""; p.skipComments() {
		p.statement()
	}
	p.finish()
	return &Netrc{func(host svchost.Hostname) (login, bool) {
		found, ok := p.logins[host]
		return found, ok
	}}
}

// Lookup returns the entry for this host and port. The user name can be "". A nil or zero Netrc is empty.
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
	rest      string            // what is not read yet
	entry     map[string]string // values of the current entry by keyword, or nil if it is not recorded
	malformed bool              // the current entry
	logins    map[svchost.Hostname]login
}

// statement reads a keyword and its value, or an unknown word.
func (p *netrcParser) statement() {
	keyword := strings.ToLower(p.word())
	switch {
	case keyword == "default":
		p.begin(nil)
		return
	case !slices.Contains(netrcKeywords, keyword):
		return // as in curl, the next word can be a keyword
	case keyword == "machine":
		p.begin(map[string]string{}) // also if its name is malformed
	}
	p.skipSpace()
	if p.rest == "" {
		p.malformed = true
		return
	}
	value := p.word()
	switch {
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

func (p *netrcParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, space) }

// skipComments skips white space and comments.
func (p *netrcParser) skipComments() {
	for p.skipSpace(); strings.HasPrefix(p.rest, "#"); p.skipSpace() {
		p.line()
	}
}

// skipMacro skips all lines up to the next empty line.
func (p *netrcParser) skipMacro() {
	p.line()
	for strings.TrimRight(p.line(), "\r") != "" {
	}
}

// line reads the rest of the line and skips its end.
func (p *netrcParser) line() (line string) {
	line, p.rest, _ = strings.Cut(p.rest, "\n")
	return line
}

// word reads the word at the current position. If its quotes are not closed in its line, the entry is malformed,
// and the line is skipped.
func (p *netrcParser) word() string {
	if p.rest[0] == '"' {
		return p.quoted()
	}
	end := strings.IndexAny(p.rest, space)
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

// quoted reads a word in double quotes.
func (p *netrcParser) quoted() string {
	var b strings.Builder
	for i := 1; i < len(p.rest) && p.rest[i] != '\n'; i++ {
		c := p.rest[i]
		if c == '"' {
			p.rest = p.rest[i+1:]
			return b.String()
		}
		if c == '\\' && i+1 < len(p.rest) && p.rest[i+1] != '\n' {
			i++
			c = p.rest[i]
			if j := strings.IndexByte("nrt", c); j >= 0 {
				c = "\n\r\t"[j]
			}
		}
		b.WriteByte(c)
	}
	p.malformed = true
	p.line()
	return ""
}
