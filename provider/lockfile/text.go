package lockfile

import (
	"strconv"
	"strings"
)

// unquote returns the value of a quoted token. start is its offset.
func unquote(text string, start int) (string, *ParseError) {
	body := text[1 : len(text)-1]
	if !strings.ContainsAny(body, `\$%`) {
		return body, nil
	}
	s := scanner{src: body}
	var b strings.Builder
	for i := 0; i < len(body); {
		size := 1
		switch body[i] {
		case '$', '%':
			var opens bool
			if size, opens = s.sequence(i); opens {
				return "", wrong(start+1+i, "expressions in texts are not allowed in a lock file; a literal %q is written %q", body[i:i+2], body[i:i+1]+body[i:i+2])
			}
			b.WriteString(body[i+max(0, size-2) : i+size]) // of three, the first is the escape
		case '\\':
			r, n := unescape(body[i:])
			if n == 0 {
				return "", wrong(start+1+i, "invalid escape sequence in a text")
			}
			size = n
			b.WriteRune(r)
		default:
			b.WriteByte(body[i])
		}
		i += size
	}
	return b.String(), nil
}

// unescape returns the character of the escape sequence at the start of s, and the length of
// the sequence, or 0 if it is invalid.
func unescape(s string) (rune, int) {
	if len(s) < 2 || !strings.Contains(`nrt"\uU`, s[1:2]) {
		return 0, 0
	}
	r, _, rest, err := strconv.UnquoteChar(s, '"')
	if err != nil {
		return 0, 0
	}
	return r, len(s) - len(rest)
}
