package cliconfig

import (
	"os"
	"strconv"
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

// text returns the value of an argument that must be a text. A number will do, as for
// the CLI.
func (r *fileReader) text(it item) (string, bool) {
	if !r.argument(it, false) {
		return "", false
	}
	switch it.value.kind {
	case text, number:
		return it.value.text, true
	case null:
		return "", true
	}
	r.wrong(it.value.at, "%q must be a text, not %s", it.name(), it.value.kind)
	return "", false
}

func (r *fileReader) boolean(it item) (on, ok bool) {
	if !r.argument(it, false) {
		return false, false
	}
	if it.value.kind != boolean {
		r.wrong(it.value.at, "%q must be true or false, not %s", it.name(), it.value.kind)
		return false, false
	}
	return it.value.text == "true", true
}

// texts returns the elements of a list of texts.
func (r *fileReader) texts(it item) ([]element, bool) {
	if !r.argument(it, false) {
		return nil, false
	}
	if it.value.kind != list {
		r.wrong(it.value.at, "%q must be a list of texts, not %s", it.name(), it.value.kind)
		return nil, false
	}
	var elements []element
	for _, v := range it.value.list {
		if v.kind != text && v.kind != number {
			r.wrong(v.at, "%q must be a list of texts, not of %s", it.name(), v.kind)
			continue
		}
		elements = append(elements, element{v.text, v.at})
	}
	return elements, len(elements) == len(it.value.list)
}

// An element is one text of a list.
type element struct {
	text string
	at   int
}

// maxCount bounds counts and seconds, so that no arithmetic overflows.
const maxCount = 1 << 20

// count returns the value of an argument that must be a number of 0 or more; a text
// with one will do, as for the CLI.
func (r *fileReader) count(it item) (int, bool) {
	if !r.argument(it, false) {
		return 0, false
	}
	n, err := strconv.ParseInt(it.value.text, 0, 64)
	switch {
	case it.value.kind != number && it.value.kind != text || err != nil:
		r.wrong(it.value.at, "%q must be a whole number", it.name())
	case n < 0 || n > maxCount:
		r.wrong(it.value.at, "%q must be between 0 and %d", it.name(), maxCount)
	default:
		return int(n), true
	}
	return 0, false
}
