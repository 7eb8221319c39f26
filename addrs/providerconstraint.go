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

// ParseProviderConstraint parses a constraint on the version of a provider as the CLI does:
// terms with commas between them, each of one of the operators =, !=, >, >=, <, <= and ~>
// (none means =), at most one space, and a version of one to three numbers with an optional
// prerelease and metadata. There is no "v" prefix, no "*", no "^" and no "||".
//
// ~> allows the last number that is written to grow, except that "~> 1" means "~> 1.0":
// both allow 1.9.0 but not 2.0.0, whereas "~> 1.2.0" allows 1.2.9 but not 1.3.0.
//
// A prerelease is allowed only if a term without operator, or with "=", names it exactly and
// all other terms allow it too. Metadata counts in = and != only. Version 0.0.0 is never
// allowed. Blank text is the zero Constraint. The error is a *[ParseError].
func ParseProviderConstraint(s string) (Constraint, error) {
	if len(s) > maxInput {
		return Constraint{}, refuse(kindProviderConstraint, s, reasonTooLong)
	}
	text, err := canonicalProvider(s)
	if err != nil {
		reason := fault.Shorten(err.Error(), maxShown) // it repeats parts of s
		if strings.ContainsAny(s, "@?/") {
			reason = "it is not a list of conditions on a version"
		}
		return Constraint{}, refuse(kindProviderConstraint, s, reason)
	}
	return Constraint{provider: text}, nil
}

// MustParseProviderConstraint is like [ParseProviderConstraint] but panics on an error. It is
// for constraints that are constants in the program.
func MustParseProviderConstraint(s string) Constraint { return must(ParseProviderConstraint(s)) }

// parseRuby runs the engine's parser, which panics on numbers above 2^64-1.
func parseRuby(s string) (spec constraints.IntersectionSpec, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a number is larger than 2^64-1")
		}
	}()
	return constraints.ParseRubyStyleMulti(s)
}

// providerMatcher compiles a canonical text.
func providerMatcher(text string) func(Version) bool {
	spec, err := parseRuby(text)
	if err != nil {
		return none
	}
	set := versions.MeetingConstraints(spec)
	return func(v Version) bool {
		e, ok := v.forProviders()
		return ok && set.Has(e)
	}
}

// canonicalProvider returns the form of a constraint that the CLI writes into lock files.
func canonicalProvider(s string) (string, error) {
	spec, err := parseRuby(s)
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

// operators has the engine's operators in canonical order for terms with the same version.
var operators = [...]constraints.SelectionOp{
	constraints.OpGreaterThan,
	constraints.OpGreaterThanOrEqual,
	constraints.OpEqual,
	constraints.OpGreaterThanOrEqualPatchOnly,
	constraints.OpGreaterThanOrEqualMinorOnly,
	constraints.OpLessThanOrEqual,
	constraints.OpLessThan,
	constraints.OpNotEqual,
}

func operatorText(op constraints.SelectionOp) string {
	switch op {
	case constraints.OpGreaterThan:
		return "> "
	case constraints.OpGreaterThanOrEqual:
		return ">= "
	case constraints.OpGreaterThanOrEqualPatchOnly, constraints.OpGreaterThanOrEqualMinorOnly:
		return "~> "
	case constraints.OpLessThanOrEqual:
		return "<= "
	case constraints.OpLessThan:
		return "< "
	case constraints.OpNotEqual:
		return "!= "
	}
	return ""
}

func writeTerm(b *strings.Builder, term constraints.SelectionSpec) {
	v := term.Boundary
	b.WriteString(operatorText(term.Operator))
	fmt.Fprintf(b, "%d.%d", v.Major.Num, v.Minor.Num)
	// The number of numbers is what tells the two kinds of ~> apart.
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

// compareTerms orders terms by version, in the engine's order, then by metadata, then by
// operator.
func compareTerms(a, b constraints.SelectionSpec) int {
	x, y := boundary(a), boundary(b)
	switch {
	case x == y:
		return slices.Index(operators[:], a.Operator) - slices.Index(operators[:], b.Operator)
	case x.Same(y):
		if x.Metadata.LessThan(y.Metadata) {
			return -1
		}
		return +1
	case x.LessThan(y):
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
