package cliconfig

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxPath is the maximum length of a path, before and after the expansion of variables.
const maxPath = 32 << 10

// expand replaces $NAME and ${NAME} by the values of variables. It returns false if the
// text or the result is longer than maxPath.
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

// readers are the functions that read the arguments of a block, by lower-case name.
type readers map[string]func(item)

// arguments calls the reader of each argument in the body of a block. Arguments without a
// reader are ignored, with a warning.
func (r *fileReader) arguments(block string, body value, readers readers) {
	for _, it := range body.body {
		if read := readers[strings.ToLower(it.name())]; read != nil {
			read(it)
		} else {
			r.warnf(it.at(), "unknown argument %s of a block %q is ignored", quote(it.name()), block)
		}
	}
}

// hasKind reports whether it is an argument whose value has one of kinds. It reports an
// error if not.
func (r *fileReader) hasKind(it item, want string, kinds ...kind) bool {
	if !r.isArgument(it, false) {
		return false
	}
	if !slices.Contains(kinds, it.value.kind) {
		r.errorf(it.value.at, "%q must be %s, not %s", it.name(), want, it.value.kind)
		return false
	}
	return true
}

// text returns the value of a string argument. As in the CLI, a number is a string too,
// and null is the empty string.
func (r *fileReader) text(it item) (string, bool) {
	if !r.hasKind(it, "a string", text, number, null) {
		return "", false
	}
	return it.value.text, true
}

func (r *fileReader) boolean(it item) (on, ok bool) {
	return it.value.text == "true", r.hasKind(it, "true or false", boolean)
}

// texts returns the elements of a list of strings.
func (r *fileReader) texts(it item) []name {
	if !r.hasKind(it, "a list of strings", list) {
		return nil
	}
	var elements []name
	for _, v := range it.value.list {
		if v.kind != text && v.kind != number {
			r.errorf(v.at, "%q must be a list of strings, not of %s", it.name(), v.kind)
			continue
		}
		elements = append(elements, name{v.text, v.at})
	}
	return elements
}

// maxCount is the maximum of counts and seconds. It prevents overflows.
const maxCount = 1 << 20

// count returns the value of an argument that must be a number of 0 or more. As in the
// CLI, it can be a string with a number.
func (r *fileReader) count(it item) (int, bool) {
	if !r.hasKind(it, "a whole number", number, text) {
		return 0, false
	}
	n, err := strconv.ParseInt(it.value.text, 0, 64)
	switch {
	case err != nil:
		r.errorf(it.value.at, "%q must be a whole number", it.name())
	case n < 0 || n > maxCount:
		r.errorf(it.value.at, "%q must be between 0 and %d", it.name(), maxCount)
	default:
		return int(n), true
	}
	return 0, false
}
