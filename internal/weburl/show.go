package weburl

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxShown limits a URL in an error or a log record, in bytes.
const MaxShown = 512

// Redact returns u for errors and logs: without user information and fragment, with "?..." for the
// query, and with the path of [MaskPath]. The result is printable and at most MaxShown bytes long.
// For a nil URL it is empty.
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
		return Clean(b.String(), MaxShown)
	}
	if u.Scheme != "" || u.Host != "" {
		b.WriteString("//" + u.Host)
	}
	query := ""
	if u.RawQuery != "" || u.ForceQuery {
		query = "?..."
	}
	b.WriteString(MaskPath(u.EscapedPath()))
	return Clean(b.String(), MaxShown-len(query)) + query
}

// minRun is the minimum length of letters and digits that may be a token.
const minRun = 20

// MaskPath replaces path segments that may be tokens by "...": JSON Web Tokens, and segments with
// 20 or more successive letters and digits that include both cases and digits. It keeps digests,
// commits, UUIDs and the file names of packages.
func MaskPath(path string) string {
	if len(path) < minRun {
		return path
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if isToken(segment) {
			segments[i] = Ellipsis
		}
	}
	return strings.Join(segments, "/")
}

func isToken(segment string) bool {
	if decoded, err := url.PathUnescape(segment); err == nil {
		segment = decoded
	}
	// A JSON Web Token begins with the Base64 form of `{"`.
	if strings.HasPrefix(segment, "eyJ") && strings.Count(segment, ".") >= 2 {
		return true
	}
	var run, upper, lower, digits int
	for _, c := range []byte(segment) {
		switch {
		case 'A' <= c && c <= 'Z':
			upper++
		case 'a' <= c && c <= 'z':
			lower++
		case '0' <= c && c <= '9':
			digits++
		default:
			run, upper, lower, digits = 0, 0, 0, 0
			continue
		}
		if run++; run >= minRun && upper > 0 && lower > 0 && digits > 0 {
			return true
		}
	}
	return false
}

// Ellipsis replaces removed text.
const Ellipsis = "..."

// Clean makes untrusted text printable: control characters, line ends, marks for the direction of
// writing and invalid UTF-8 are escaped as in a Go string literal. If the result exceeds max
// bytes, it is shortened and ends in "...".
func Clean(s string, max int) string {
	if max <= 0 {
		return ""
	}
	var b strings.Builder
	cut := -1 // position of the ellipsis
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		if (r == utf8.RuneError && size == 1) || !strconv.IsPrint(r) {
			quoted := strconv.Quote(piece)
			piece = quoted[1 : len(quoted)-1]
		}
		if cut < 0 && b.Len()+len(piece)+len(Ellipsis) > max {
			cut = b.Len()
		}
		if b.Len()+len(piece) > max {
			return b.String()[:cut] + Ellipsis[:min(len(Ellipsis), max-cut)]
		}
		b.WriteString(piece)
		i += size
	}
	return b.String()
}

// OneLine replaces white space by single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// RedactText redacts every URL that s contains.
func RedactText(s string) string {
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

// redactString redacts a URL, also an invalid one.
func redactString(s string) string {
	if u, err := url.Parse(s); err == nil {
		return Redact(u)
	}
	query := ""
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s, query = s[:i], "?..."
	}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		s = scheme + "://" + MaskPath(rest)
	}
	return s + query
}
