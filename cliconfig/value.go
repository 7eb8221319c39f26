package cliconfig

import (
	"slices"
	"strings"
)

// What both syntaxes are read into. Offsets are those in the file, with line breaks
// normalised.

type kind string

const (
	object  kind = "a block"
	list    kind = "a list"
	text    kind = "a text"
	number  kind = "a number"
	boolean kind = "true or false"
	null    kind = "null"
)

// A value is what stands behind an equals sign, or the body of a block.
type value struct {
	kind kind
	at   int
	text string  // of a text; a number or a boolean as it is written
	body []item  // of an object
	list []value // of a list
}

// An item is an argument or a block.
type item struct {
	names  []name // the first one is what it is, the others are labels
	equals bool   // it is written with an equals sign, or in JSON
	value  value
}

// A name is a word of a file: a name, a label, or an element of a list of texts.
type name struct {
	text string
	at   int
}

func (it item) name() string { return it.names[0].text }
func (it item) at() int      { return it.names[0].at }

// is reports whether the name is that of a setting. The CLI ignores the case of most.
func (it item) is(setting string) bool { return strings.EqualFold(it.name(), setting) }

// objects reports whether v is a list of objects, by which JSON repeats a block.
func (v value) objects() bool {
	return v.kind == list && len(v.list) > 0 && !slices.ContainsFunc(v.list, func(e value) bool { return e.kind != object })
}

// problemAt is a problem whose place is still an offset.
type problemAt struct {
	at   int
	text string
}

func (p *problemAt) Error() string { return p.text }

// maxDepth bounds how deep blocks and lists may be nested.
const maxDepth = 64

const tooDeep = "blocks and lists are nested too deeply"
