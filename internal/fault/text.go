package fault

import "strings"

// Shown is how an error repeats a refused input: without what may be secret in a URL,
// and at most about max bytes of it.
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

// Shorten cuts s after max bytes, between two characters, and says so.
func Shorten(s string, max int) string {
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "..."
	}
	return s
}
