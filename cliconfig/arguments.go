package cliconfig

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxPath bounds a path before and after its variables are replaced.
const maxPath = 32 << 10

// expand replaces $NAME and ${NAME} by what the environment has for them. It reports
// false if the result, or a part of the work, is too large.
func (s System) expand(text string) (string, bool) {
	size := len(text)
	if size > maxPath {
		return "", false
	}
	getenv := s.variables()
	text = os.Expand(text, func(name string) string {
		if size > maxPath {
			return ""
		}
		value := getenv(name)
		size += len(value)
		return value
	})
	return text, size <= maxPath
}

// readers has a function for each argument of a block, by the name in lower case.
type readers map[string]func(item)

// arguments calls the reader of each argument in the body of a block. An argument without
// a reader is ignored with a warning.
func (r *fileReader) arguments(block string, body value, readers readers) {
	for _, it := range body.body {
		if read := readers[strings.ToLower(it.name())]; read != nil {
			read(it)
		} else {
			r.warn(it.at(), "unknown argument %s of a block %q is ignored", shown(it.name()), block)
		}
	}
}

// typed reports whether it is an argument without labels, with a value of one of kinds.
func (r *fileReader) typed(it item, want string, kinds ...kind) bool {
	if !r.argument(it, false) {
		return false
	}
	if !slices.Contains(kinds, it.value.kind) {
		r.wrong(it.value.at, "%q must be %s, not %s", it.name(), want, it.value.kind)
		return false
	}
	return true
}

// text returns the value of an argument that must be a text. As in the CLI, it can be a
// number, and null is the empty text.
func (r *fileReader) text(it item) (string, bool) {
	if !r.typed(it, "a text", text, number, null) {
		return "", false
	}
	return it.value.text, true
}

func (r *fileReader) boolean(it item) (on, ok bool) {
	return it.value.text == "true", r.typed(it, "true or false", boolean)
}

// texts returns the elements of a list of texts.
func (r *fileReader) texts(it item) ([]name, bool) {
	if !r.typed(it, "a list of texts", list) {
		return nil, false
	}
	var elements []name
	for _, v := range it.value.list {
		if v.kind != text && v.kind != number {
			r.wrong(v.at, "%q must be a list of texts, not of %s", it.name(), v.kind)
			continue
		}
		elements = append(elements, name{v.text, v.at})
	}
	return elements, len(elements) == len(it.value.list)
}

// maxCount bounds counts and seconds, so that no arithmetic overflows.
const maxCount = 1 << 20

// count returns the value of an argument that must be a number of 0 or more; a text
// with one will do, as for the CLI.
func (r *fileReader) count(it item) (int, bool) {
	if !r.typed(it, "a whole number", number, text) {
		return 0, false
	}
	n, err := strconv.ParseInt(it.value.text, 0, 64)
	switch {
	case err != nil:
		r.wrong(it.value.at, "%q must be a whole number", it.name())
	case n < 0 || n > maxCount:
		r.wrong(it.value.at, "%q must be between 0 and %d", it.name(), maxCount)
	default:
		return int(n), true
	}
	return 0, false
}
