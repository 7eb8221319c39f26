package fault

import "strings"

// Shown returns an invalid input for an error: without user information and query of a URL, and
// shortened to max bytes.
func Shown(input string, max int) string {
	input, _, _ = strings.Cut(input, "?")
	if i := strings.LastIndexByte(input, '@'); i >= 0 {
		scheme := ""
		if j := strings.Index(input[:i], "://"); j >= 0 {
			scheme = input[:j+len("://")]
		}
		input = scheme + "..." + input[i:]
	}
	return Shorten(input, max)
}

// Shorten returns s, or at most max bytes of it and "...".
func Shorten(s string, max int) string {
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "..."
	}
	return s
}
