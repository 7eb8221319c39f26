package mirrorclient

import (
	"encoding/json"
	"iter"
)

// members yields the names of a JSON object, in their order, and the first byte of each
// value. The object must be valid and without white space around it. Decoding it into a
// map takes twice as long, and an index is nothing but names.
func members(object []byte) iter.Seq2[string, byte] {
	return func(yield func(string, byte) bool) {
		for i := 1; i < len(object); i++ {
			if object[i] != '"' {
				continue // white space, a comma, or the end
			}
			end := stringEnd(object, i)
			name := text(object[i:end])
			for i = end; isBetween(object[i]); i++ {
			}
			if !yield(name, object[i]) {
				return
			}
			i = valueEnd(object, i) - 1
		}
	}
}

// isBetween reports whether c may stand between a name and its value.
func isBetween(c byte) bool { return c == ':' || c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// text returns what a JSON string says.
func text(quoted []byte) string {
	for _, c := range quoted {
		if c == '\\' {
			var s string
			_ = json.Unmarshal(quoted, &s) // it is part of a valid document
			return s
		}
	}
	return string(quoted[1 : len(quoted)-1])
}

// stringEnd returns the index behind the string that starts at i.
func stringEnd(doc []byte, i int) int {
	for i++; doc[i] != '"'; i++ {
		if doc[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the index behind the value that starts at i, or behind the part of it
// that could be mistaken for a name.
func valueEnd(doc []byte, i int) int {
	for depth := 0; ; i++ {
		switch doc[i] {
		case '"':
			i = stringEnd(doc, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth <= 0 {
			return i + 1
		}
	}
}
