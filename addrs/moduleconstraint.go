package addrs

import (
	"math"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"
)

// ModuleConstraint is a constraint on the version of a module, such as "~> 5.0". It allows the
// versions that the CLI selects. The zero ModuleConstraint allows every version without a
// prerelease part.
type ModuleConstraint struct {
	text string // canonical
}

// ParseModuleConstraint parses a constraint as the CLI does: terms separated by commas. A
// term is one of the operators =, !=, >, >=, <, <= and ~> (the default is =) and a version as
// for [ParseModuleVersion], with any spaces between them.
//
// The operator ~> allows the last written number to grow. Unlike for a provider, "~> 1"
// allows 2.0.0. A term with four numbers, such as "~> 1.2.3.4", allows only versions with
// four.
//
// A prerelease is allowed only if the whole constraint is that version, without operator or
// with "=" directly before it: "1.0.0-beta" allows 1.0.0-beta, but "= 1.0.0-beta" and
// "1.0.0-beta, < 2" allow no prerelease, see
// https://github.com/opentofu/opentofu/issues/2117. Only then does metadata count. Blank text
// gives the zero ModuleConstraint.
func ParseModuleConstraint(s string) (ModuleConstraint, error) {
	if len(s) > maxInput {
		return ModuleConstraint{}, refuse(kindModuleConstraint, s, reasonTooLong)
	}
	if strings.TrimSpace(s) == "" {
		return ModuleConstraint{}, nil
	}
	text, err := canonicalModule(s)
	if err != nil {
		return ModuleConstraint{}, refuse(kindModuleConstraint, s, err.Error())
	}
	return ModuleConstraint{text}, nil
}

// MustParseModuleConstraint is like [ParseModuleConstraint], but panics on errors.
func MustParseModuleConstraint(s string) ModuleConstraint { return must(ParseModuleConstraint(s)) }

// ExactModuleConstraint returns the constraint that allows v, and versions that the CLI takes
// for the same. It allows no version if the CLI never selects v.
func ExactModuleConstraint(v Version) ModuleConstraint {
	const nothing = "< 0.0.0"
	if !v.ok {
		return ModuleConstraint{nothing}
	}
	text, err := canonicalModule(v.String())
	if err != nil { // no version that a registry can list
		text = nothing
	}
	return ModuleConstraint{text}
}

// Allows reports whether c allows v. For many versions, use [ModuleConstraint.Matcher].
func (c ModuleConstraint) Allows(v Version) bool { return c.Matcher()(v) }

// Matcher returns [ModuleConstraint.Allows] compiled once, and safe for concurrent use.
func (c ModuleConstraint) Matcher() func(Version) bool {
	// Only the form without operator and comma can name a prerelease.
	named, err := ParseModuleVersion(c.text)
	return c.matcher(func(v Version) bool { return err == nil && v == named })
}

// LibraryMatcher is like [ModuleConstraint.Matcher] with the rule of hashicorp/go-version: a
// term with a prerelease, such as ">= 1.0.0-beta", also allows prereleases with the same
// numbers, such as 1.0.0-rc1.
func (c ModuleConstraint) LibraryMatcher() func(Version) bool {
	engine, err := goversion.NewConstraint(c.text)
	return c.matcher(func(v Version) bool {
		e, ok := v.forModules()
		return ok && err == nil && engine.Check(e)
	})
}

// matcher returns a function that tests releases, and calls prerelease for other versions.
func (c ModuleConstraint) matcher(prerelease func(Version) bool) func(Version) bool {
	if c.IsZero() {
		return isRelease
	}
	terms, err := parseModuleTerms(c.text)
	if err != nil {
		return allowsNone
	}
	return func(v Version) bool {
		if v.IsPrerelease() {
			return prerelease(v)
		}
		refuses := func(t moduleTerm) bool { return !t.allows(v) }
		return v.ok && max(v.major, v.minor, v.patch) <= math.MaxInt64 && // the limit of a module
			!slices.ContainsFunc(terms, refuses)
	}
}

// And returns the terms of both. It allows a release that both allow, and a prerelease only if
// both constraints are equal.
func (c ModuleConstraint) And(o ModuleConstraint) ModuleConstraint {
	return ModuleConstraint{join(c.text, o.text, canonicalModule)}
}

// String is like [ProviderConstraint.String].
func (c ModuleConstraint) String() string { return c.text }

// IsZero reports whether c has no terms.
func (c ModuleConstraint) IsZero() bool { return c == ModuleConstraint{} }

// MarshalText returns [ModuleConstraint.String].
func (c ModuleConstraint) MarshalText() ([]byte, error) { return []byte(c.text), nil }

// UnmarshalText parses as [ParseModuleConstraint] does.
func (c *ModuleConstraint) UnmarshalText(b []byte) error {
	return unmarshal(c, b, ParseModuleConstraint)
}
