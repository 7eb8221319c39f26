package addrs

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
)

// ParseError describes why a text is invalid. Parsers return it as a pointer.
type ParseError struct {
	// Kind is the kind of text: "provider address", "module address", "module source",
	// "module subdirectory", "provider version", "module version", "provider version
	// constraint", "module version constraint" or "platform".
	Kind string
	// Input is the refused text, shortened, without user information and query.
	Input string
	// Reason is a phrase without a full stop.
	Reason string
	// Suggestion, if not empty, is a valid text that was probably meant.
	Suggestion string
}

// Error returns the kind, the quoted input, the reason and the suggestion in one line.
func (e *ParseError) Error() string {
	s := fmt.Sprintf("invalid %s %q: %s", e.Kind, e.Input, e.Reason)
	if e.Suggestion != "" {
		s += fmt.Sprintf("; did you mean %q?", e.Suggestion)
	}
	return s
}

const (
	// maxInput is the maximum length of a text to parse, in bytes.
	maxInput = 4096
	// maxShown is the maximum length of Input, in bytes.
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

// hostReason returns the reason of an error of package svchost.
func hostReason(err error) string {
	if pe, ok := errors.AsType[*svchost.ParseError](err); ok {
		return pe.Reason
	}
	return err.Error()
}

const reasonTooLong = "it is too long"

// must panics if err is not nil.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
