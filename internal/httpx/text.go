package httpx

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxURL bounds a URL in an error or a log record.
const maxURL = 512

// Redact renders u for people and logs: without user information and fragment,
// and with "?..." in place of a query. The result is printable and at most 512
// bytes long. A nil URL is "".
func Redact(u *url.URL) string {
	if u == nil {
		return ""
	}
	var b strings.Builder
	if u.Scheme != "" {
		b.WriteString(u.Scheme + ":")
	}
	if u.Opaque != "" {
		b.WriteString("...")
		return Clean(b.String(), maxURL)
	}
	if u.Scheme != "" || u.Host != "" {
		b.WriteString("//" + u.Host)
	}
	query := ""
	if u.RawQuery != "" || u.ForceQuery {
		query = "?..."
	}
	b.WriteString(u.EscapedPath())
	return Clean(b.String(), maxURL-len(query)) + query
}

// ellipsis marks text that was cut.
const ellipsis = "..."

// Clean makes text from elsewhere safe to print on a terminal, in at most max
// bytes: what is not printable (control characters, line ends, marks that turn
// the direction of writing, invalid UTF-8) appears as in a Go string literal,
// and text that is too long ends in "...".
func Clean(s string, max int) string {
	if max <= 0 {
		return ""
	}
	var b strings.Builder
	cut := -1 // where the ellipsis goes, if it is needed
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		if (r == utf8.RuneError && size == 1) || !strconv.IsPrint(r) {
			quoted := strconv.Quote(piece)
			piece = quoted[1 : len(quoted)-1]
		}
		if cut < 0 && b.Len()+len(piece)+len(ellipsis) > max {
			cut = b.Len()
		}
		if b.Len()+len(piece) > max {
			return b.String()[:cut] + ellipsis[:min(len(ellipsis), max-cut)]
		}
		b.WriteString(piece)
		i += size
	}
	return b.String()
}

// oneLine replaces each run of white space by one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// redactText redacts every URL that s contains.
func redactText(s string) string {
	const sep = "://"
	var b strings.Builder
	for {
		at := strings.Index(s, sep)
		if at < 0 {
			break
		}
		start := at
		for start > 0 && isSchemeByte(s[start-1]) {
			start--
		}
		end := at + len(sep)
		for end < len(s) && !strings.ContainsRune(" \t\r\n\"'<>`", rune(s[end])) {
			end++
		}
		b.WriteString(s[:start])
		b.WriteString(redactString(s[start:end]))
		s = s[end:]
	}
	b.WriteString(s)
	return b.String()
}

func isSchemeByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}

// redactString redacts one URL, also one that does not parse.
func redactString(s string) string {
	if u, err := url.Parse(s); err == nil {
		return Redact(u)
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i] + "?..."
	}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		s = scheme + "://" + rest
	}
	return s
}
