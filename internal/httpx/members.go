package httpx

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Member is a member of a JSON object.
type Member struct {
	Name  string
	At    int  // offset of the name
	Value byte // first byte of the value
}

// Members yields the members of a valid JSON object in order. It is twice as fast as decoding into a
// map.
func Members(object []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for i := bytes.IndexByte(object, '{') + 1; i < len(object); i++ {
			if object[i] != '"' {
				continue // white space, comma or end
			}
			m := Member{At: i}
			i = stringEnd(object, i)
			m.Name = memberName(object[m.At:i])
			for bytes.IndexByte([]byte(": \t\r\n"), object[i]) >= 0 {
				i++
			}
			m.Value = object[i]
			if !yield(m) {
				return
			}
			i = valueEnd(object, i) - 1
		}
	}
}

// memberName returns the value of a valid JSON string.
func memberName(quoted []byte) (s string) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	_ = json.Unmarshal(quoted, &s)
	return s
}

// stringEnd returns the index after the string that starts at i.
func stringEnd(doc []byte, i int) int {
	for i++; doc[i] != '"'; i++ {
		if doc[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the index after the value that starts at i. For a number or literal, it returns
// i+1, since the rest does not contain names.
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
