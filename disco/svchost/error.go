package svchost

import (
	"fmt"

	"github.com/tofureg/tofureg/internal/fault"
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
	return &ParseError{Input: fault.Shown(input, maxShown), Reason: fmt.Sprintf(format, args...)}
}
