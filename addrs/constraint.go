package addrs

import (
	goversion "github.com/hashicorp/go-version"

	"github.com/apparentlymart/go-versions/versions"
)

// Constraint is a condition on versions, such as ">= 1.2, < 2.0.0". It holds what
// [ParseProviderConstraint] or [ParseModuleConstraint] read, and it allows what the CLI
// would select for a provider or for a module. These differ in details, which the two
// functions describe.
//
// Constraints are comparable with ==; equal constraints are of the same kind and have the
// same terms. The zero Constraint states no condition on a provider: it allows every release,
// that is, every version that is not a prerelease, except 0.0.0, which the CLI takes for "no
// version" of a provider. What [ParseModuleConstraint] makes of blank text allows 0.0.0 too,
// which a module can have.
type Constraint struct {
	// The canonical texts of the terms of each kind. At most one is set unless And
	// combined both kinds.
	provider, module string
}

// anyModule stands in the place of the terms where there is no condition on a module.
const anyModule = "*"

// ExactVersion returns the constraint that allows v and nothing else. For a version that the
// CLI never selects, such as 0.0.0 of a provider or the zero Version, it allows nothing.
func ExactVersion(v Version) Constraint {
	if !v.ok {
		v = Version{ok: true}
	}
	if _, ok := v.forProviders(); ok {
		return Constraint{provider: v.String()}
	}
	text, err := canonicalModule(v.String())
	if err != nil { // a version too odd for a module as well, so none that could be listed
		return ExactVersion(Version{})
	}
	return Constraint{module: text}
}

// Allows reports whether v meets c. The zero Version meets none. To test many versions, use
// [Constraint.Matcher].
func (c Constraint) Allows(v Version) bool { return c.Matcher()(v) }

// Matcher returns a function that does what [Constraint.Allows] does and compiles c only
// once. The function is safe for concurrent use.
func (c Constraint) Matcher() func(Version) bool {
	switch {
	case c == Constraint{}:
		return func(v Version) bool { return isRelease(v) && v != Version{ok: true} }
	case c.module == "":
		return providerMatcher(c.provider)
	case c.provider == "":
		return moduleMatcher(c.module)
	}
	first, second := providerMatcher(c.provider), moduleMatcher(c.module)
	return func(v Version) bool { return first(v) && second(v) }
}

func isRelease(v Version) bool { return v.ok && !v.IsPrerelease() }

// none is the matcher of a constraint that allows nothing.
func none(Version) bool { return false }

// And returns the constraint that has the terms of both. It allows a release if both do. A
// prerelease that one of them names exactly is allowed, for a provider, if it lies within
// the bounds of the other, and for a module only if the other is the same; this is what the
// CLI makes of several constraints on one provider, or of one on a module with several terms.
// If one is for a provider and the other for a module, each keeps its own rules.
func (c Constraint) And(o Constraint) Constraint {
	return Constraint{
		provider: join(c.provider, o.provider, canonicalProvider),
		module:   join(c.module, o.module, canonicalModule),
	}
}

func join(a, b string, canonical func(string) (string, error)) string {
	switch {
	case b == "" || b == anyModule && a != "" || a == b:
		return a
	case a == "" || a == anyModule:
		return b
	}
	both := a + ", " + b
	if text, err := canonical(both); err == nil {
		return text
	}
	return both
}

// String returns the canonical form: without duplicates, ordered by version, each term as
// operator, space and version, "=" omitted, joined by ", ". The form of a constraint on a
// provider is the one in lock files. A Constraint without a condition gives "".
func (c Constraint) String() string {
	switch {
	case c.module == "" || c.module == anyModule:
		return c.provider
	case c.provider == "":
		return c.module
	}
	return c.provider + ", " + c.module
}

// IsZero reports whether c states no condition, as the zero Constraint does and what
// [ParseModuleConstraint] makes of blank text.
func (c Constraint) IsZero() bool { return c == Constraint{} || c == Constraint{module: anyModule} }

// MarshalText returns the form of [Constraint.String], which does not tell whether it is for
// a provider or for a module. It never fails.
func (c Constraint) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what [ParseProviderConstraint] accepts; the empty text is the zero
// Constraint. Keep a constraint on a module as a string and pass it to
// [ParseModuleConstraint].
func (c *Constraint) UnmarshalText(b []byte) error { return unmarshal(c, b, ParseProviderConstraint) }

// forProviders returns v as the engine for providers has it, and false if v is not a version
// that a provider can have.
func (v Version) forProviders() (versions.Version, bool) {
	e := versions.Version{Major: v.major, Minor: v.minor, Patch: v.patch}
	if v.tail == "" {
		return e, v.ok
	}
	more, pre, meta := v.cut()
	for i := range len(pre) {
		if !isExtra(pre[i]) {
			return e, false
		}
	}
	for i := range len(meta) {
		if !isExtra(meta[i]) {
			return e, false
		}
	}
	e.Prerelease, e.Metadata = versions.VersionExtra(pre), versions.VersionExtra(meta)
	return e, more == ""
}

// forModules returns v as the engine for modules has it, and false if v is not a version that
// a module can have.
func (v Version) forModules() (*goversion.Version, bool) {
	if !v.ok {
		return nil, false
	}
	e, err := goversion.NewVersion(v.String())
	return e, err == nil
}
