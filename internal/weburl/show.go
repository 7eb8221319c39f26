// Package weburl redacts URLs, and makes texts printable, for errors and logs.
package weburl

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxShown limits a URL in an error or a log record, in bytes.
const MaxShown = 512

// Redact returns u for errors and logs. It is the one place that decides which parts of a URL may
// be shown: the scheme, the host, and the path of [MaskPath]. "?..." stands for a query, and "..."
// for all that follows a scheme without "//". User information and the fragment are left out. The
// result is printable and at most MaxShown bytes long. For a nil URL it is empty.
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

// RedactHop returns the URL of one request of a chain for the log of a transport, which does not
// know the token of the first request: of a redirect it shows only scheme and host, because a
// server may repeat the token in the path.
func RedactHop(u *url.URL, redirected bool) string {
	if redirected && u != nil {
		return Redact(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/" + Ellipsis})
	}
	return Redact(u)
}

// Lengths of words that may be a token. A word is a run of letters and digits.
const (
	minMixed = 16 // words with lower-case and upper-case letters and digits, together
	minWord  = 20 // a word with letters and digits
)

// MaskPath replaces path segments that may be tokens by "...": JSON Web Tokens, segments with 16
// bytes of words in which both cases and digits occur, and words of 20 or more letters and digits.
// It keeps digests and commits in hex, UUIDs and the file names of packages.
func MaskPath(path string) string {
	if len(path) < minMixed {
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
	mixed := 0
	for word := range strings.FieldsFuncSeq(segment, func(r rune) bool { return !isAlphanumeric(r) }) {
		lower, upper := word != strings.ToUpper(word), word != strings.ToLower(word)
		digits := strings.ContainsAny(word, "0123456789")
		if lower && upper && digits {
			mixed += len(word)
		}
		if mixed >= minMixed || len(word) >= minWord && digits && (lower || upper) && !isDigest(word) {
			return true
		}
	}
	return false
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// isDigest reports whether a word is a SHA-1, as of a commit, or a SHA-2 in lower-case hex.
func isDigest(word string) bool {
	switch len(word) {
	case 40, 64, 96, 128:
		return strings.Trim(word, "0123456789abcdef") == ""
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

// Parts of relative URLs in a text.
var (
	userinfo = regexp.MustCompile(`//[^\s/?#@"'<>` + "`" + `]*@`)
	query    = regexp.MustCompile(`(/[^\s?"'<>` + "`" + `]*\?)[^\s"'<>` + "`" + `]+`)
)

// RedactText redacts every URL that s contains, also relative URLs and those with the slashes of
// JSON. It need not be a whole text, and does not make it printable.
func RedactText(s string) string {
	s = strings.ReplaceAll(s, `\/`, "/")
	s = userinfo.ReplaceAllString(s, "//")
	s = query.ReplaceAllString(s, "${1}"+Ellipsis)
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
