package cliconfig

import (
	"fmt"

	"github.com/hashicorp/hcl/hcl/token"
)

// ParseFile parses a file and returns its items as text.
func ParseFile(src string, json bool) (string, error) {
	words := 0
	if json {
		items, err := parseJSON(src, &words)
		return dump(items), err
	}
	items, err := newParser(src, &words).items(lexeme{kind: token.EOF})
	return dump(items), err
}

func dump(items []item) string {
	s := "{"
	for _, it := range items {
		for _, n := range it.names {
			s += fmt.Sprintf("%q ", n.text)
		}
		s += dumpValue(it.value) + ";"
	}
	return s + "}"
}

func dumpValue(v value) string {
	switch v.kind {
	case object:
		return dump(v.body)
	case list:
		s := "["
		for _, e := range v.list {
			s += dumpValue(e) + ","
		}
		return s + "]"
	case text:
		return fmt.Sprintf("%q", v.text)
	}
	return v.text
}

// CleanPath calls clean.
func (s System) CleanPath(path string) string { return s.clean(path) }

// AbsPath calls abs.
func (s System) AbsPath(path string) string { return s.abs(path) }

// MaxFile and others are the limits, for tests of n and n+1.
const (
	MaxFile  = maxFile
	MaxTotal = maxTotal
	MaxWords = maxWords
	MaxFiles = maxFiles
)
