package provider

import (
	"errors"
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
	provider addrs.Provider // with placeholders for stars
	stars    int
}

const (
	star        = "*"
	placeholder = "x"
	kindPattern = "provider pattern"
)

// ParsePattern parses NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE. The parts after a star must
// be stars. The error is an [*addrs.ParseError].
//
// It refuses a type such as terraform-x, which no provider has. The CLI accepts it, and so does
// [github.com/tofureg/tofureg/cliconfig.Load], with a warning.
func ParsePattern(s string) (Pattern, error) {
	if len(s) > 4096 {
		return Pattern{}, refusePattern(s, "it is too long", "")
	}
	parts := strings.Split(s, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return Pattern{}, refusePattern(s, "it must be NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE", "")
	}
	stars := 0
	for i := len(parts) - 1; i >= 0 && parts[i] == star; i-- {
		parts[i] = placeholder
		stars++
	}
	for i, part := range parts[:len(parts)-stars] {
		switch {
		case part != star:
		case i == len(parts)-2:
			return Pattern{}, refusePattern(s, "the namespace can be * only if the type is too", "")
		default:
			return Pattern{}, refusePattern(s, "the hostname can be * only if namespace and type are too", "")
		}
	}
	if stars == 3 {
		return Pattern{stars: 3}, nil
	}
	p, err := addrs.ParseProvider(strings.Join(parts, "/"))
	if e, ok := errors.AsType[*addrs.ParseError](err); ok {
		return Pattern{}, refusePattern(s, e.Reason, e.Suggestion)
	}
	if err != nil {
		return Pattern{}, err
	}
	if p.IsLegacy() {
		return Pattern{}, refusePattern(s, `providers of the namespace "-" cannot be installed`, "")
	}
	return Pattern{p, stars}, nil
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
	if p == (Pattern{}) || provider.IsZero() {
		return false
	}
	return (p.stars >= 1 || p.provider.Type() == provider.Type()) &&
		(p.stars >= 2 || p.provider.Namespace() == provider.Namespace()) &&
		(p.stars >= 3 || p.provider.Host() == provider.Host())
}

// String returns HOSTNAME/NAMESPACE/TYPE with stars, or "" for the zero Pattern.
func (p Pattern) String() string {
	switch p.stars {
	case 0:
		return p.provider.String()
	case 1:
		return p.provider.Host().Display() + "/" + p.provider.Namespace() + "/*"
	case 2:
		return p.provider.Host().Display() + "/*/*"
	}
	return "*/*/*"
}

func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText calls [ParsePattern]. The empty text is the zero Pattern.
func (p *Pattern) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*p = Pattern{}
		return nil
	}
	parsed, err := ParsePattern(string(b))
	if err == nil {
		*p = parsed
	}
	return err
}

// refusePattern returns the error of an invalid pattern.
func refusePattern(s, reason, suggestion string) error {
	return &addrs.ParseError{Kind: kindPattern, Input: fault.Shown(s, 200), Reason: reason, Suggestion: suggestion}
}
