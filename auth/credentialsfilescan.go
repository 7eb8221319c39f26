package auth

import (
	"bytes"
	"encoding/json"
	"strings"
)

// space is white space in JSON.
const space = " \t\r\n"

// parseObject returns the members of the object at offset in text, which is
// valid JSON.
func parseObject(text []byte, offset int) ([]member, error) {
	at := skipSpace(text, offset)
	if text[at] != '{' {
		return nil, syntaxError(text, at, errNotObject)
	}
	var list []member
	at = skipSpace(text, at+1)
	for text[at] != '}' {
		var m member
		end := skipString(text, at)
		m.nameText = text[at:end]
		_ = json.Unmarshal(m.nameText, &m.name) // a string, as has been checked
		m.offset = skipSpace(text, skipSpace(text, end)+1)
		end = skipValue(text, m.offset)
		m.valueText = text[m.offset:end]
		list = append(list, m)
		if at = skipSpace(text, end); text[at] == ',' {
			at = skipSpace(text, at+1)
		}
	}
	return list, nil
}

func skipSpace(text []byte, at int) int {
	return len(text) - len(bytes.TrimLeft(text[at:], space))
}

// skipString returns the end of the string that starts at at.
func skipString(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// skipValue returns the end of the value that starts at at.
func skipValue(text []byte, at int) int {
	for depth := 0; ; {
		switch text[at] {
		case '"':
			at = skipString(text, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		default:
			at++
		}
		// A literal ends before the next punctuation; within an object there is
		// always one.
		if depth == 0 && strings.IndexByte(",}]"+space, text[at]) >= 0 {
			return at
		}
	}
}
