package choice

import (
	"errors"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
)

// Pattern is the text of a pattern: an address whose last parts may be stars. The empty one matches no address.
type Pattern string

// ParsePattern parses a pattern of a kind such as "module pattern" with at least least and at most most parts, which form
// names. The parts after a star must be stars. The function canonical parses the address in which other words stand for
// the stars. The error is an *addrs.ParseError.
func ParsePattern(s, kind, form string, least, most int, canonical func(address string) (string, error)) (Pattern, error) {
	refuse := func(reason, suggestion string) (Pattern, error) {
		return "", &addrs.ParseError{Kind: kind, Input: fault.Shown(s, 200), Reason: reason, Suggestion: suggestion}
	}
	if len(s) > 4096 {
		return refuse("it is too long", "")
	}
	parts := strings.Split(s, "/")
	if len(parts) < least || len(parts) > most {
		return refuse("it must be "+form, "")
	}
	stars := 0
	for i := len(parts) - 1; i >= 0 && parts[i] == "*"; i-- {
		parts[i] = "x"
		stars++
	}
	switch {
	case stars == most:
		return Pattern("*" + strings.Repeat("/*", most-1)), nil
	case slices.Contains(parts, "*"):
		return refuse("the parts after a star must be stars too", "")
	}
	address, err := canonical(strings.Join(parts, "/"))
	if e, ok := errors.AsType[*addrs.ParseError](err); ok {
		return refuse(e.Reason, e.Suggestion)
	}
	return Pattern(strings.TrimSuffix(address, strings.Repeat("/x", stars)) + strings.Repeat("/*", stars)), err
}

// Matches reports whether p matches an address.
func (p Pattern) Matches(address string) bool {
	before, _, star := strings.Cut(string(p), "*")
	return p != "" && address != "" && (address == string(p) || star && strings.HasPrefix(address, before))
}

// Unmarshal sets p to what parse returns for the text b, or to zero if it is empty.
func Unmarshal[P any](p *P, b []byte, parse func(string) (P, error)) (err error) {
	var parsed P
	if len(b) > 0 {
		parsed, err = parse(string(b))
	}
	if err == nil {
		*p = parsed
	}
	return err
}
