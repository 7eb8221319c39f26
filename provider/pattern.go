package provider

import (
	"errors"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
)

// Pattern selects providers for a [NamedSource], as in the [CLI configuration].
//
//	example.com/acme/alpha   this provider
//	example.com/acme/*       all providers of the namespace
//	example.com/*/*          all providers of the host
//	*/*/*                    all providers
//
// Without a host, [addrs.DefaultHost] is used. The zero Pattern selects no provider.
//
// [CLI configuration]: https://opentofu.org/docs/cli/config/config-file/#explicit-installation-method-configuration
type Pattern struct {
	text string // HOSTNAME/NAMESPACE/TYPE, with stars
}

// ParsePattern parses NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE. The parts after a star must
// be stars. The error is an [*addrs.ParseError].
//
// It refuses a type such as terraform-x, which no provider has. The CLI accepts it, and so does
// [github.com/tofureg/tofureg/cliconfig.Load], with a warning.
func ParsePattern(s string) (Pattern, error) {
	refuse := func(reason, suggestion string) (Pattern, error) {
		return Pattern{}, &addrs.ParseError{Kind: "provider pattern", Input: fault.Shown(s, 200), Reason: reason, Suggestion: suggestion}
	}
	if len(s) > 4096 {
		return refuse("it is too long", "")
	}
	parts := strings.Split(s, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return refuse("it must be NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE", "")
	}
	stars := 0
	for i := len(parts) - 1; i >= 0 && parts[i] == "*"; i-- {
		parts[i] = "x"
		stars++
	}
	switch {
	case stars == 3:
		return Pattern{"*/*/*"}, nil
	case slices.Contains(parts, "*"):
		return refuse("the parts after a star must be stars too", "")
	}
	p, err := addrs.ParseProvider(strings.Join(parts, "/"))
	if e, ok := errors.AsType[*addrs.ParseError](err); ok {
		return refuse(e.Reason, e.Suggestion)
	}
	if p.IsLegacy() {
		return refuse(`providers of the namespace "-" cannot be installed`, "")
	}
	return Pattern{strings.TrimSuffix(p.String(), strings.Repeat("/x", stars)) + strings.Repeat("/*", stars)}, err
}

// MustParsePattern is like [ParsePattern], but panics on errors.
func MustParsePattern(s string) Pattern {
	p, err := ParsePattern(s)
	if err != nil {
		panic(err)
	}
	return p
}

// Matches reports whether p selects the provider.
func (p Pattern) Matches(provider addrs.Provider) bool {
	before, _, star := strings.Cut(p.text, "*")
	address := provider.String()
	return p != (Pattern{}) && address != "" && (address == p.text || star && strings.HasPrefix(address, before))
}

// String returns HOSTNAME/NAMESPACE/TYPE with stars, or "" for the zero Pattern.
func (p Pattern) String() string { return p.text }

func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText calls [ParsePattern]. The empty text is the zero Pattern.
func (p *Pattern) UnmarshalText(b []byte) (err error) {
	parsed := Pattern{}
	if len(b) > 0 {
		parsed, err = ParsePattern(string(b))
	}
	if err == nil {
		*p = parsed
	}
	return err
}
