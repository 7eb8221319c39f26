package module

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/choice"
)

// Pattern selects modules. For example, example.com/acme/*/* selects a namespace. The zero Pattern selects no module.
type Pattern struct {
	text choice.Pattern // HOSTNAME/NAMESPACE/NAME/SYSTEM, with stars
}

// ParsePattern parses HOSTNAME/NAMESPACE/NAME/SYSTEM. The parts after a star must be stars.
func ParsePattern(s string) (Pattern, error) {
	text, err := choice.ParsePattern(s, "module pattern", "HOSTNAME/NAMESPACE/NAME/SYSTEM", 4, 4, func(address string) (string, error) {
		m, err := addrs.ParseModule(address)
		return m.String(), err
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

// Matches reports whether p selects the module.
func (p Pattern) Matches(m addrs.Module) bool { return p.text.Matches(m.String()) }

// String returns the text, which is empty for the zero Pattern.
func (p Pattern) String() string { return string(p.text) }

func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText calls [ParsePattern]. The empty text is the zero Pattern.
func (p *Pattern) UnmarshalText(b []byte) error { return choice.Unmarshal(p, b, ParsePattern) }
