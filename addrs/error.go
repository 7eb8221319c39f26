package addrs

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
)

// ParseError says why a text is not an address, a version, a constraint or a platform.
// All parsers of this package, and the UnmarshalText methods, return it as a pointer.
type ParseError struct {
	// Kind is what the text was read as: "provider address", "module address", "module
	// source", "module subdirectory", "provider version", "module version", "provider version constraint",
	// "module version constraint" or "platform".
	Kind string
	// Input is the refused text. It is shortened if it is long, and without user
	// information and query, since those can hold secrets when somebody passes a URL.
	Input string
	// Reason is a phrase without a full stop that says what is wrong.
	Reason string
	// Suggestion is a text that would be accepted and is probably meant, or empty.
	Suggestion string
}

// Error returns all fields in one line, with the input quoted.
func (e *ParseError) Error() string {
	s := fmt.Sprintf("invalid %s %q: %s", e.Kind, e.Input, e.Reason)
	if e.Suggestion != "" {
		s += fmt.Sprintf("; did you mean %q?", e.Suggestion)
	}
	return s
}

const (
	// maxInput bounds the length of any text that is parsed.
	maxInput = 4096
	// maxShown is how many bytes of a refused text an error repeats.
	maxShown = 200
)

const (
	kindProvider           = "provider address"
	kindModule             = "module address"
	kindModuleSource       = "module source"
	kindSubdir             = "module subdirectory"
	kindVersion            = "provider version"
	kindModuleVersion      = "module version"
	kindProviderConstraint = "provider version constraint"
	kindModuleConstraint   = "module version constraint"
	kindPlatform           = "platform"
)

func refuse(kind, input, reason string) error {
	return &ParseError{Kind: kind, Input: fault.Shown(input, maxShown), Reason: reason}
}

func suggest(kind, input, reason, suggestion string) error {
	return &ParseError{Kind: kind, Input: fault.Shown(input, maxShown), Reason: reason, Suggestion: suggestion}
}

// hostReason returns the reason of an error of svchost, without the hostname itself.
func hostReason(err error) string {
	if pe, ok := errors.AsType[*svchost.ParseError](err); ok {
		return pe.Reason
	}
	return err.Error()
}

const reasonTooLong = "it is too long"

// must panics if err is not nil. It serves the functions for constants in a program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
