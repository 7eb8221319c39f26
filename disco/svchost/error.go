package svchost

import (
	"fmt"
	"strings"
)

// ParseError says why a text is not a hostname. [Parse], [FromWire] and
// [Hostname.UnmarshalText] return it as a pointer.
type ParseError struct {
	// Input is the refused text. It is shortened if it is long, and without user
	// information and query, since those can hold secrets when somebody passes a URL.
	Input string
	// Reason is a phrase without a full stop that completes "invalid hostname: ...".
	Reason string
}

// Error returns the reason and the quoted input in one line.
func (e *ParseError) Error() string {
	return fmt.Sprintf("invalid hostname %q: %s", e.Input, e.Reason)
}

// maxShown is how many bytes of a refused text an error repeats.
const maxShown = 100

func refuse(input, format string, args ...any) error {
	return &ParseError{Input: redact(input), Reason: fmt.Sprintf(format, args...)}
}

// redact removes what may be secret in a URL and shortens the rest.
func redact(s string) string {
	s, _, _ = strings.Cut(s, "?")
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		scheme := ""
		if j := strings.Index(s[:i], "://"); j >= 0 {
			scheme = s[:j+len("://")]
		}
		s = scheme + "..." + s[i:]
	}
	return shorten(s)
}

func shorten(s string) string {
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "..."
	}
	return s
}
