package addrs

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
)

// ParseError says why a text is invalid.
type ParseError struct {
	Kind       string // such as "module version constraint"
	Input      string // shortened, without user information and query
	Reason     string // a phrase
	Suggestion string // what was probably meant, also in Error; may be empty
}

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

// unmarshal implements UnmarshalText of all types of this package.
func unmarshal[T any](dst *T, b []byte, parse func(string) (T, error)) error {
	var v T
	if len(b) > 0 {
		var err error
		if v, err = parse(string(b)); err != nil {
			return err
		}
	}
	*dst = v
	return nil
}
