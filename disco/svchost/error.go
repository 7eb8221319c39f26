package svchost

import (
	"fmt"

	"github.com/tofureg/tofureg/internal/fault"
)

// A ParseError describes an invalid hostname.
type ParseError struct {
	// Input is the invalid text, shortened. User information and query of a URL, which may be
	// secret, are removed.
	Input string
	// Reason is the rest of the sentence "invalid hostname: ...".
	Reason string
}

// Error returns the quoted input and the reason.
func (e *ParseError) Error() string {
	return fmt.Sprintf("invalid hostname %q: %s", e.Input, e.Reason)
}

// maxShown limits the input in an error, in bytes.
const maxShown = 100

func invalid(input, format string, args ...any) error {
	return &ParseError{Input: fault.Shown(input, maxShown), Reason: fmt.Sprintf(format, args...)}
}
