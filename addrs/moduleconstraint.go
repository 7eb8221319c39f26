package addrs

import (
	"math"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"
)

// ModuleConstraint is a condition on the version of a module, such as "~> 5.0". It allows
// what the CLI would select: releases only, except that "= 1.0.0-beta1" alone allows this
// prerelease. See [ProviderConstraint] for providers, which have other rules, and
// [ModuleConstraint.LibraryMatcher] for the rule of other tools, by which a bound with a
// prerelease allows prereleases.
//
// Constraints are comparable with ==; equal ones have the same terms. The zero
// ModuleConstraint states no condition, as where a configuration names no version: it allows
// every release, that is, every version that is not a prerelease, 0.0.0 among them.
type ModuleConstraint struct {
	text string // canonical
}

// ParseModuleConstraint parses a constraint on the version of a module as the CLI does:
// terms with commas between them, each of one of the operators =, !=, >, >=, <, <= and ~>
// (none means =) and a version as [ParseModuleVersion] accepts it, with any spaces between.
//
// ~> allows the last number that is written to grow. Unlike for a provider, "~> 1" therefore
// allows 2.0.0; and a term with four numbers, such as "~> 1.2.3.4", allows only versions that
// have four.
//
// A prerelease is allowed only if the whole constraint is that version, written without an
// operator or with "=" directly before it: "1.0.0-beta" and "=v1.0.0-beta" allow 1.0.0-beta,
// whereas "= 1.0.0-beta", "1.0.0-beta, < 2" and ">= 1.0.0-beta" allow no prerelease at all.
// The CLI came to this rule by chance (https://github.com/opentofu/opentofu/issues/2117) and
// keeps it. Metadata counts when a prerelease is named and is ignored otherwise.
//
// Blank text is the zero ModuleConstraint. The error is a *[ParseError].
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

// MustParseModuleConstraint is like [ParseModuleConstraint] but panics on an error. It is for
// constraints that are constants in the program.
func MustParseModuleConstraint(s string) ModuleConstraint { return must(ParseModuleConstraint(s)) }

// ExactModuleConstraint returns the constraint that allows v, and nothing else but what the CLI
// takes for the same, such as a release with other metadata. For a version that the CLI never
// selects, such as the zero Version, it allows nothing.
func ExactModuleConstraint(v Version) ModuleConstraint {
	const nothing = "< 0.0.0"
	if !v.ok {
		return ModuleConstraint{nothing}
	}
	text, err := canonicalModule(v.String())
	if err != nil { // too odd for the engine, so none that could be listed
		text = nothing
	}
	return ModuleConstraint{text}
}

// Allows reports whether v meets c. The zero Version meets none. To test many versions, use
// [ModuleConstraint.Matcher].
func (c ModuleConstraint) Allows(v Version) bool { return c.Matcher()(v) }

// Matcher returns a function that does what [ModuleConstraint.Allows] does and compiles c only
// once. The function is safe for concurrent use.
func (c ModuleConstraint) Matcher() func(Version) bool {
	// Only the form without operator and comma can name a prerelease.
	named, err := ParseModuleVersion(c.text)
	return c.matcher(func(v Version) bool { return err == nil && v == named })
}

// LibraryMatcher is like [ModuleConstraint.Matcher] with the rule of the library
// hashicorp/go-version, which many tools use instead of the CLI's rule: a term with a
// prerelease, such as ">= 1.0.0-beta", also allows prereleases of the same numbers, such as
// 1.0.0-rc1. Both rules agree about releases.
//
// The rule is not a part of the constraint, because String, And and JSON would lose it.
func (c ModuleConstraint) LibraryMatcher() func(Version) bool {
	engine, err := goversion.NewConstraint(c.text)
	return c.matcher(func(v Version) bool {
		e, ok := v.forModules()
		return ok && err == nil && engine.Check(e)
	})
}

// matcher returns a function that tests releases, and calls prerelease for the others.
func (c ModuleConstraint) matcher(prerelease func(Version) bool) func(Version) bool {
	if c.IsZero() {
		return isRelease
	}
	terms, err := parseModuleTerms(c.text)
	if err != nil {
		return none
	}
	return func(v Version) bool {
		if v.IsPrerelease() {
			return prerelease(v)
		}
		refuses := func(t moduleTerm) bool { return !t.allows(v) }
		return v.ok && max(v.major, v.minor, v.patch) <= math.MaxInt64 && // a module has no others
			!slices.ContainsFunc(terms, refuses)
	}
}

// And returns the constraint that has the terms of both, as if they were written with a comma
// between them. It allows a release if both do, and a prerelease only if both are the same.
func (c ModuleConstraint) And(o ModuleConstraint) ModuleConstraint {
	return ModuleConstraint{join(c.text, o.text, canonicalModule)}
}

// String returns the canonical form: without duplicates, ordered by version, each term as
// operator, space and version, "=" omitted, joined by ", ". The zero ModuleConstraint gives "".
func (c ModuleConstraint) String() string { return c.text }

// IsZero reports whether c states no condition.
func (c ModuleConstraint) IsZero() bool { return c == ModuleConstraint{} }

// MarshalText returns the form of [ModuleConstraint.String]. It never fails.
func (c ModuleConstraint) MarshalText() ([]byte, error) { return []byte(c.text), nil }

// UnmarshalText reads what [ParseModuleConstraint] accepts; the empty text is the zero
// ModuleConstraint.
func (c *ModuleConstraint) UnmarshalText(b []byte) error {
	return unmarshal(c, b, ParseModuleConstraint)
}
