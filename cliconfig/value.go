package cliconfig

import (
	"slices"
	"strings"
)

// Both syntaxes are parsed into items. Offsets are in the text of the file, in which \r\n is
// replaced by \n.

type kind string

const (
	object  kind = "a block"
	list    kind = "a list"
	text    kind = "a string"
	number  kind = "a number"
	boolean kind = "true or false"
	null    kind = "null"
)

// A value is the value of an argument, or the body of a block.
type value struct {
	kind kind
	at   int
	text string  // of a string; a number or a boolean as written
	body []item  // of an object
	list []value // of a list
}

// An item is an argument or a block.
type item struct {
	names  []name // the name, then the labels
	equals bool   // the item has an equals sign, or is in JSON
	value  value
}

// A name is a name, a label, or an element of a list of strings.
type name struct {
	text string
	at   int
}

func (it item) name() string { return it.names[0].text }
func (it item) at() int      { return it.names[0].at }

// is reports whether the item has the name of a setting, in any case.
func (it item) is(setting string) bool { return strings.EqualFold(it.name(), setting) }

// objects reports whether v is a list of objects, which is a repeated block in JSON.
func (v value) objects() bool {
	return v.kind == list && len(v.list) > 0 && !slices.ContainsFunc(v.list, func(e value) bool { return e.kind != object })
}

// A problemAt is a problem at an offset.
type problemAt struct {
	at   int
	text string
}

func (p *problemAt) Error() string { return p.text }

// maxDepth is the maximum number of nested blocks and lists.
const maxDepth = 64

const tooDeep = "blocks and lists are nested too deeply"
