package module

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
)

// maxShown bounds the text of a location, in bytes.
const maxShown = 1000

// hiddenQuery stands for parameters that are not shown.
const hiddenQuery = "..."

// redactURL returns address without what may be secret, and what to show in place
// of its query. The user of an SSH address is no secret if there is no password.
func redactURL(address string) (shown, hidden string) {
	shown, query, found := strings.Cut(address, "?")
	if found && query != "" {
		hidden = hiddenQuery
	}
	shown, _, _ = strings.Cut(shown, "#")
	scheme, rest, ok := strings.Cut(shown, "://")
	if !ok {
		// A userinfo without a scheme is only in what did not parse.
		return shown[strings.LastIndexByte(shown, '@')+1:], hidden
	}
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 && authority[:i] != "git" {
		authority = authority[i+1:]
	}
	if strings.Contains(rest, "/") {
		path = "/" + weburl.MaskPath(path)
	}
	return scheme + "://" + authority + path, hidden
}

// redactText is redactURL for each URL within a text from elsewhere.
func redactText(s string) string {
	var b strings.Builder
	for {
		at := strings.Index(s, "://")
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		start := at
		for start > 0 && isSchemeByte(s[start-1]) {
			start--
		}
		end := at + len("://")
		for end < len(s) && strings.IndexByte(" \t\r\n\"'<>`", s[end]) < 0 {
			end++
		}
		shown, hidden := redactURL(s[start:end])
		if hidden != "" {
			shown += "?" + hidden
		}
		b.WriteString(s[:start] + shown)
		s = s[end:]
	}
}

func isSchemeByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}

// clean makes text from elsewhere safe to print, in about max bytes: what is not
// printable appears as in a Go string literal.
func clean(s string, max int) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if b.Len() >= max {
			return b.String() + "..."
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			quoted := strconv.Quote(piece)
			piece = quoted[1 : len(quoted)-1]
		}
		b.WriteString(piece)
		i += size
	}
	return b.String()
}

// refuse is the error of parsing a location.
func refuse(input, reason string) error { return suggest(input, reason, "") }

func suggest(input, reason, suggestion string) error {
	return &addrs.ParseError{
		Kind: "module location", Input: clean(redactInput(input), 200), Reason: reason, Suggestion: suggestion,
	}
}

// redactInput is redactURL for what need not be a URL: all before an "@" goes.
func redactInput(s string) string {
	s, _, found := strings.Cut(s, "?")
	s, _, fragment := strings.Cut(s, "#")
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		scheme := ""
		if j := strings.Index(s[:i], "://"); j >= 0 {
			scheme = s[:j+len("://")]
		}
		s = scheme + hiddenQuery + s[i:]
	}
	switch {
	case fragment:
		s += "#" + hiddenQuery
	case found:
		s += "?" + hiddenQuery
	}
	return s
}
