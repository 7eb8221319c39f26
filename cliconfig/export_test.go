package cliconfig

import "fmt"

// ParseFile gives the tests what a file is read into: a list of the items, each a list
// of names and value; blocks are lists of items, lists are []any, the rest is text.
func ParseFile(src string, json bool) (string, error) {
	parse := parseNative
	if json {
		parse = parseJSON
	}
	items, err := parse(src)
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

// CleanPath and AbsPath give the tests the rules for paths.
func (s System) CleanPath(path string) string { return s.clean(path) }

// AbsPath is abs.
func (s System) AbsPath(path string) string { return s.abs(path) }
