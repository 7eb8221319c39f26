package auth

import (
	"bytes"
	"errors"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

var (
	errNetrcKeyword = errors.New("a keyword such as machine or login is due; a value with spaces needs double quotes")
	errNetrcValue   = errors.New("the value is missing")
	errNetrcQuote   = errors.New("the quoted value has no end in its line")
	errNetrcMachine = errors.New("this belongs to no machine")
)

// A netrcParser reads the text of a netrc file from front to back.
type netrcParser struct {
	text   []byte
	at     int
	entry  *netrcEntry // the one that is being read, or nil
	logins map[svchost.Hostname]login
}

// A netrcEntry is a machine with all that is said of it.
type netrcEntry struct {
	machine     string // "" for the default
	port        string
	protocol    string
	user        string
	password    string
	hasPassword bool
}

// A netrcWord is a keyword or a value.
type netrcWord struct {
	text   string
	offset int
}

func (p *netrcParser) parse() error {
	for {
		p.skipComments()
		keyword, ok, err := p.word()
		if err != nil {
			return err
		}
		if !ok {
			p.finish()
			return nil
		}
		if err := p.statement(keyword); err != nil {
			return err
		}
	}
}

// statement reads what follows keyword.
func (p *netrcParser) statement(keyword netrcWord) error {
	switch name := strings.ToLower(keyword.text); name {
	case "default":
		p.finish()
		p.entry = &netrcEntry{}
		return nil
	case "machine", "login", "password", "passwd", "account", "port", "protocol", "macdef":
		value, ok, err := p.word()
		if err != nil {
			return err
		}
		if !ok {
			return syntaxError(p.text, keyword.offset, errNetrcValue)
		}
		switch name {
		case "machine":
			p.finish()
			p.entry = &netrcEntry{machine: value.text}
			return nil
		case "macdef":
			p.skipMacro()
			return nil
		}
		if p.entry == nil {
			return syntaxError(p.text, keyword.offset, errNetrcMachine)
		}
		p.entry.set(name, value.text)
		return nil
	}
	return syntaxError(p.text, keyword.offset, errNetrcKeyword)
}

func (e *netrcEntry) set(keyword, value string) {
	switch keyword {
	case "login":
		e.user = value
	case "password", "passwd":
		e.password, e.hasPassword = value, true
	case "port":
		e.port = value
	case "protocol":
		e.protocol = strings.ToLower(value)
	}
}

// finish records the entry that has been read, if it counts.
func (p *netrcParser) finish() {
	e := p.entry
	p.entry = nil
	if e == nil || !e.hasPassword || e.protocol != "" && e.protocol != "https" {
		return
	}
	name := e.machine
	if e.port != "" {
		name += ":" + e.port
	}
	host, err := svchost.FromWire(name)
	if err != nil {
		return
	}
	if _, ok := p.logins[host]; !ok {
		p.logins[host] = login{e.user, NewPassword(e.password)}
	}
}

// skipComments leaves at before the next word that is no comment.
func (p *netrcParser) skipComments() {
	for {
		p.skipSpace()
		if p.at == len(p.text) || p.text[p.at] != '#' {
			return
		}
		p.skipLine()
	}
}

// skipMacro skips the rest of this line and all lines up to an empty one.
func (p *netrcParser) skipMacro() {
	p.skipLine()
	for p.at < len(p.text) {
		start := p.at
		p.skipLine()
		if len(bytes.TrimRight(p.text[start:p.at], "\r\n")) == 0 {
			return
		}
	}
}

func (p *netrcParser) skipSpace() {
	p.at = len(p.text) - len(bytes.TrimLeft(p.text[p.at:], space))
}

func (p *netrcParser) skipLine() {
	if n := bytes.IndexByte(p.text[p.at:], '\n'); n >= 0 {
		p.at += n + 1
		return
	}
	p.at = len(p.text)
}

// word reads the next word, or reports false at the end of the text.
func (p *netrcParser) word() (w netrcWord, ok bool, err error) {
	p.skipSpace()
	start := p.at
	if start == len(p.text) {
		return netrcWord{}, false, nil
	}
	if p.text[start] == '"' {
		text, err := p.quoted()
		return netrcWord{text, start}, true, err
	}
	for p.at < len(p.text) && strings.IndexByte(space, p.text[p.at]) < 0 {
		p.at++
	}
	return netrcWord{string(p.text[start:p.at]), start}, true, nil
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
			c = unescaped(p.text[p.at])
		}
		b.WriteByte(c)
	}
	return "", syntaxError(p.text, start, errNetrcQuote)
}

// unescaped returns what a character after a backslash stands for.
func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
