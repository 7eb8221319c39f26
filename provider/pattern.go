package provider

import (
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/choice"
)

// Patterns selects providers.
type Patterns struct {
	Include []Pattern `json:"include,omitempty"` // if empty, all
	Exclude []Pattern `json:"exclude,omitempty"` // wins
}

// Selects reports whether the patterns select the provider.
func (s Patterns) Selects(p addrs.Provider) bool {
	matches := func(pattern Pattern) bool { return pattern.Matches(p) }
	return (len(s.Include) == 0 || slices.ContainsFunc(s.Include, matches)) && !slices.ContainsFunc(s.Exclude, matches)
}

// Pattern selects providers, as in the [CLI configuration]: example.com/acme/alpha, example.com/acme/*, example.com/*/* or
// */*/*. Without a host, [addrs.DefaultHost] is used. The zero Pattern selects no provider.
//
// [CLI configuration]: https://opentofu.org/docs/cli/config/config-file/#explicit-installation-method-configuration
type Pattern struct {
	text choice.Pattern // HOSTNAME/NAMESPACE/TYPE, with stars
}

// ParsePattern parses NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE. The parts after a star must be stars. Unlike the CLI, it
// refuses a type such as terraform-x, which no provider has; [github.com/tofureg/tofureg/cliconfig.Load] warns of it. The
// error is an [*addrs.ParseError].
func ParsePattern(s string) (Pattern, error) {
	text, err := choice.ParsePattern(s, "provider pattern", "NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE", 2, 3, func(address string) (string, error) {
		p, err := addrs.ParseProvider(address)
		if err == nil && p.IsLegacy() {
			err = &addrs.ParseError{Reason: `providers of the namespace "-" cannot be installed`}
		}
		return p.String(), err
	})
	return Pattern{text}, err
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
func (p Pattern) Matches(provider addrs.Provider) bool { return p.text.Matches(provider.String()) }

// String returns HOSTNAME/NAMESPACE/TYPE with stars, or "" for the zero Pattern.
func (p Pattern) String() string { return string(p.text) }

func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText calls [ParsePattern]. The empty text is the zero Pattern.
func (p *Pattern) UnmarshalText(b []byte) error { return choice.Unmarshal(p, b, ParsePattern) }
