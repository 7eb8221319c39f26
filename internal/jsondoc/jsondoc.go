// Package jsondoc limits what JSON documents cost, before they are decoded. Package encoding/json needs up to a
// hundred times the size of a document that has many short elements, even of a wrong type.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tofureg/tofureg/failure"
)

// Limits of the members and elements of a document.
const (
	MaxMembers = 500_000 // of any document, such as a list of versions
	MaxPackage = 150_000 // of a document about one version
)

// Unmarshal is json.Unmarshal for a document of at most MaxMembers members. If it has more, the error wraps
// failure.ErrTooLarge.
func Unmarshal(document []byte, v any) error {
	if err := CheckMembers(document, MaxMembers); err != nil {
		return err
	}
	return json.Unmarshal(document, v)
}

// CheckMembers returns an error that wraps failure.ErrTooLarge if a document has more than max members and elements.
// Commas in texts count, too.
func CheckMembers(document []byte, max int) error {
	if bytes.Count(document, []byte{','}) >= max {
		return tooMany("members", max)
	}
	return nil
}

// CheckList returns an error that wraps failure.ErrTooLarge if an array or object in a valid document has more
// than max elements.
func CheckList(document []byte, what string, max int) error {
	if bytes.Count(document, []byte{','}) < max || !json.Valid(document) || longestList(document) <= max {
		return nil
	}
	return tooMany(what, max)
}

func tooMany(what string, limit int) error {
	return fmt.Errorf("more than %d %s: %w", limit, what, failure.ErrTooLarge)
}

// longestList returns the number of elements in the longest array or object of a valid document.
// If none has two elements, it returns 0.
func longestList(document []byte) int {
	longest := 0
	open := []int{1} // elements so far of each enclosing value
	for i := 0; i < len(document); i++ {
		last := len(open) - 1
		switch document[i] {
		case '"':
			for i++; document[i] != '"'; i++ {
				if document[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			open = append(open, 1)
		case '}', ']':
			open = open[:last]
		case ',':
			open[last]++
			longest = max(longest, open[last])
		}
	}
	return longest
}
