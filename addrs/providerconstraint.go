package addrs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"

	"github.com/tofureg/tofureg/internal/fault"
)

// ProviderConstraint is a constraint on provider versions. The zero value allows every release except 0.0.0.
type ProviderConstraint struct {
	text string // canonical
}

// ParseProviderConstraint parses terms separated by commas, such as ">= 1.2, < 2.0.0". A term is an operator =, !=, >,
// >=, <, <= or ~>, by default =, at most one space, and a version as for [ParseVersion].
//
// With ~>, the last written number may grow: "~> 1.2.0" allows 1.2.9 but not 1.3.0. "~> 1" means "~> 1.0".
//
// A prerelease is allowed only if one term is that version, without operator or with "=", and its precedence fits all
// other terms. Only = and != compare metadata. Version 0.0.0 is never allowed. Blank text gives the zero value.
func ParseProviderConstraint(s string) (ProviderConstraint, error) {
	if len(s) > maxInput {
		return ProviderConstraint{}, refuse(kindProviderConstraint, s, reasonTooLong)
	}
	text, err := canonicalProvider(s)
	if err != nil {
		reason := fault.Shorten(err.Error(), maxShown) // it repeats parts of s
		if strings.ContainsAny(s, "@?/") {
			reason = "it is not a list of operators and versions"
		} else if strings.Contains(reason, "invalid constraint operator") && !strings.Contains(reason, "did you mean") {
			reason += "; the operators are =, !=, >, >=, <, <= and ~>"
		}
		return ProviderConstraint{}, refuse(kindProviderConstraint, s, reason)
	}
	return ProviderConstraint{text}, nil
}

// MustParseProviderConstraint is [ParseProviderConstraint], but panics.
func MustParseProviderConstraint(s string) ProviderConstraint {
	return must(ParseProviderConstraint(s))
}

// ExactProviderConstraint allows only v. If v is zero or the CLI never selects v, such as 0.0.0, it allows nothing.
func ExactProviderConstraint(v Version) ProviderConstraint {
	if _, ok := v.forProviders(); !ok {
		v = Version{ok: true}
	}
	return ProviderConstraint{v.String()}
}

// Allows returns false for the zero Version.
func (c ProviderConstraint) Allows(v Version) bool { return c.Matcher()(v) }

// Matcher returns a faster Allows for many versions, safe for concurrent use.
func (c ProviderConstraint) Matcher() func(Version) bool {
	if c.IsZero() {
		return func(v Version) bool { return isRelease(v) && v != Version{ok: true} }
	}
	spec, err := guard(constraints.ParseRubyStyleMulti, c.text)
	if err != nil {
		return allowsNone
	}
	set := versions.MeetingConstraints(spec)
	return func(v Version) bool {
		e, ok := v.forProviders()
		return ok && set.Has(e)
	}
}

// And returns the constraint with all terms.
func (c ProviderConstraint) And(others ...ProviderConstraint) ProviderConstraint {
	texts := make([]string, 0, 1+len(others))
	for _, o := range slices.Concat(others, []ProviderConstraint{c}) {
		if !o.IsZero() {
			texts = append(texts, o.text)
		}
	}
	slices.Sort(texts)
	if texts = slices.Compact(texts); len(texts) == 0 {
		return ProviderConstraint{}
	}
	all := strings.Join(texts, ", ")
	if text, err := canonicalProvider(all); err == nil && len(texts) > 1 {
		all = text
	}
	return ProviderConstraint{all}
}

// String returns the form of lock files: terms ordered by version, without duplicates and "=". Versions have at least
// three numbers, except after ~>.
func (c ProviderConstraint) String() string { return c.text }

// IsZero reports whether c is zero.
func (c ProviderConstraint) IsZero() bool { return c == ProviderConstraint{} }

func (c ProviderConstraint) MarshalText() ([]byte, error) { return []byte(c.text), nil }

func (c *ProviderConstraint) UnmarshalText(b []byte) error {
	return unmarshal(c, b, ParseProviderConstraint)
}

// canonicalProvider returns the form of a constraint that the CLI writes to lock files.
func canonicalProvider(s string) (string, error) {
	spec, err := guard(constraints.ParseRubyStyleMulti, s)
	if err != nil {
		return "", err
	}
	for i := range spec {
		spec[i].Boundary = spec[i].Boundary.ConstrainToZero()
	}
	slices.SortFunc(spec, compareTerms)
	spec = slices.Compact(spec)
	var b strings.Builder
	for i, term := range spec {
		if i > 0 {
			b.WriteString(", ")
		}
		writeTerm(&b, term)
	}
	return b.String(), nil
}

// operators are the operators in canonical order for terms with the same version, with their
// text.
var operators = [...]struct {
	op   constraints.SelectionOp
	text string
}{
	{constraints.OpGreaterThan, "> "},
	{constraints.OpGreaterThanOrEqual, ">= "},
	{constraints.OpEqual, ""},
	{constraints.OpGreaterThanOrEqualPatchOnly, "~> "},
	{constraints.OpGreaterThanOrEqualMinorOnly, "~> "},
	{constraints.OpLessThanOrEqual, "<= "},
	{constraints.OpLessThan, "< "},
	{constraints.OpNotEqual, "!= "},
}

// rank returns the index of the operator of a term.
func rank(term constraints.SelectionSpec) int {
	for i, o := range operators {
		if o.op == term.Operator {
			return i
		}
	}
	return 0 // the parser knows no other operator
}

func writeTerm(b *strings.Builder, term constraints.SelectionSpec) {
	v := term.Boundary
	b.WriteString(operators[rank(term)].text)
	fmt.Fprintf(b, "%d.%d", v.Major.Num, v.Minor.Num)
	// How many numbers are written distinguishes the two operators ~>.
	if term.Operator != constraints.OpGreaterThanOrEqualMinorOnly {
		fmt.Fprintf(b, ".%d", v.Patch.Num)
	}
	if v.Prerelease != "" {
		b.WriteString("-" + v.Prerelease)
	}
	if v.Metadata != "" {
		b.WriteString("+" + v.Metadata)
	}
}

// compareTerms orders terms by version in the library's order, then by metadata, then by
// operator.
func compareTerms(a, b constraints.SelectionSpec) int {
	x, y := boundary(a), boundary(b)
	switch {
	case x == y:
		return rank(a) - rank(b)
	case x.LessThan(y), x.Same(y) && x.Metadata.LessThan(y.Metadata):
		return -1
	}
	return +1
}

func boundary(term constraints.SelectionSpec) versions.Version {
	v := term.Boundary
	return versions.Version{
		Major: v.Major.Num, Minor: v.Minor.Num, Patch: v.Patch.Num,
		Prerelease: versions.VersionExtra(v.Prerelease), Metadata: versions.VersionExtra(v.Metadata),
	}
}

func isRelease(v Version) bool { return v.ok && !v.IsPrerelease() }

// allowsNone is the matcher of a constraint that allows no version.
func allowsNone(Version) bool { return false }

// forProviders converts v for the library that the CLI uses for providers. It returns false
// if v cannot be the version of a provider.
func (v Version) forProviders() (versions.Version, bool) {
	e := versions.Version{Major: v.major, Minor: v.minor, Patch: v.patch}
	if v.tail == "" {
		return e, v.ok
	}
	more, pre, meta := v.cut()
	e.Prerelease, e.Metadata = versions.VersionExtra(pre), versions.VersionExtra(meta)
	return e, more == "" && consists("."+pre+meta, maxVersion, isExtra)
}

// guard calls a parser of go-versions, which panics on numbers above 2^64-1.
func guard[T any](parse func(string) (T, error), s string) (v T, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a number is larger than 2^64-1")
		}
	}()
	return parse(s)
}
