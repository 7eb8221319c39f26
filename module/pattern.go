package module

import (
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
)

// Pattern selects modules.
//
//	example.com/acme/network/aws   this module
//	example.com/acme/*/*           all modules of the namespace
//	example.com/*/*/*              all modules of the host
//	*/*/*/*                        all modules
//
// The zero Pattern selects no module.
type Pattern struct {
	text string // HOSTNAME/NAMESPACE/NAME/SYSTEM, with stars
}

// ParsePattern parses HOSTNAME/NAMESPACE/NAME/SYSTEM. The parts after a star must be stars. The error is
// an [*addrs.ParseError].
func ParsePattern(s string) (Pattern, error) {
	refuse := func(reason string) (Pattern, error) {
		return Pattern{}, &addrs.ParseError{Kind: "module pattern", Input: fault.Shown(s, 200), Reason: reason}
	}
	if len(s) > 4096 {
		return refuse("it is too long")
	}
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return refuse("it must be HOSTNAME/NAMESPACE/NAME/SYSTEM")
	}
	stars := 0
	for i := 3; i >= 0 && parts[i] == "*"; i-- {
		parts[i] = "x"
		stars++
	}
	switch {
	case stars == 4:
		return Pattern{"*/*/*/*"}, nil
	case slices.Contains(parts, "*"):
		return refuse("the parts after a star must be stars too")
	}
	m, err := addrs.ParseModule(strings.Join(parts, "/"))
	if e, ok := err.(*addrs.ParseError); ok {
		return refuse(e.Reason)
	}
	return Pattern{strings.TrimSuffix(m.String(), strings.Repeat("/x", stars)) + strings.Repeat("/*", stars)}, err
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
func (p Pattern) Matches(m addrs.Module) bool {
	before, _, star := strings.Cut(p.text, "*")
	address := m.String()
	return p != (Pattern{}) && address != "" && (address == p.text || star && strings.HasPrefix(address, before))
}

// String returns HOSTNAME/NAMESPACE/NAME/SYSTEM with stars, or "" for the zero Pattern.
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
