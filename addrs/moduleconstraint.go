package addrs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	goversion "github.com/hashicorp/go-version"
)

// ModuleConstraint is a constraint on module versions. The zero value allows every release.
type ModuleConstraint struct {
	text string // canonical
}

// ParseModuleConstraint parses the terms of [ParseProviderConstraint], but with versions as for [ParseModuleVersion]
// and any spaces before them.
//
// The operator ~> differs: "~> 1" allows 2.0.0. With four numbers, it allows no version with fewer. With a prerelease,
// it allows none.
//
// A prerelease is allowed only if the whole constraint is that version, without operator, or with "=" and no space
// after it. Metadata counts only for such a prerelease. Blank text gives the zero value.
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

// MustParseModuleConstraint is [ParseModuleConstraint], but panics.
func MustParseModuleConstraint(s string) ModuleConstraint { return must(ParseModuleConstraint(s)) }

// ExactModuleConstraint allows v and, if v is a release, versions that differ only in metadata or final zeros. If the
// CLI never selects v, such as 1.2.3.4-beta, it allows nothing.
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

// Allows returns false for the zero Version.
func (c ModuleConstraint) Allows(v Version) bool { return c.Matcher()(v) }

// Matcher is like [ProviderConstraint.Matcher].
func (c ModuleConstraint) Matcher() func(Version) bool {
	if c.IsZero() {
		return isRelease
	}
	all, err := goversion.NewConstraint(c.text)
	if err != nil {
		return allowsNone
	}
	// Only the form without operator and comma can name a prerelease.
	named, err := ParseModuleVersion(c.text)
	return func(v Version) bool {
		if v.IsPrerelease() {
			return err == nil && v == named
		}
		e, err := goversion.NewVersion(v.String())
		return err == nil && all.Check(e)
	}
}

// String is like [ProviderConstraint.String], but keeps any "=" of a prerelease.
func (c ModuleConstraint) String() string { return c.text }

// IsZero reports whether c is zero.
func (c ModuleConstraint) IsZero() bool { return c == ModuleConstraint{} }

func (c ModuleConstraint) MarshalText() ([]byte, error) { return []byte(c.text), nil }

func (c *ModuleConstraint) UnmarshalText(b []byte) error {
	return unmarshal(c, b, ParseModuleConstraint)
}

// moduleTerm is one term of a constraint on a module.
type moduleTerm struct {
	op      string // one of moduleOperators
	version Version
	written int // how many numbers were written, if op is ~>
}

// moduleOperators is in canonical order for terms with the same version.
var moduleOperators = []string{">", ">=", "=", "~>", "<=", "<", "!="}

// canonicalModule returns the canonical form of a constraint, which allows the same versions
// as s.
func canonicalModule(s string) (string, error) {
	for text := range strings.SplitSeq(s, ",") { // before the library sees it, whose regular expression takes long
		if len(strings.TrimLeft(strings.TrimSpace(text), "<>=!~ \t\r\n\f\v")) > maxVersion {
			return "", errors.New("a version is too long")
		}
	}
	if _, err := goversion.NewConstraint(s); err != nil {
		return "", errors.New("each term must be an optional operator (=, !=, >, >=, <, <=, ~>) and a version with numbers up to 2^63-1")
	}
	var terms []moduleTerm
	for text := range strings.SplitSeq(s, ",") {
		term, err := parseModuleTerm(text)
		if err != nil {
			return "", err
		}
		terms = append(terms, term)
	}
	slices.SortFunc(terms, moduleTerm.compare)
	terms = slices.Compact(terms)
	if v := terms[0].version; len(terms) == 1 && terms[0].op == "=" && v.IsPrerelease() && !namesPrerelease(s, v) {
		return "= " + v.String(), nil // with the space it allows no prerelease
	}
	var b strings.Builder
	for i, term := range terms {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(term.String())
	}
	return b.String(), nil
}

// namesPrerelease reports whether the constraint s, whose only term is v, allows the
// prerelease v. Here the CLI uses the library for providers, whose parser refuses commas and
// spaces after an operator. If that parser fails, the CLI removes a "v" and tries again.
func namesPrerelease(s string, v Version) bool {
	e, ok := v.forProviders()
	if !ok {
		return false
	}
	set, err := guard(versions.MeetingConstraintsString, s)
	if err != nil {
		i := strings.IndexByte(s, 'v')
		if i < 0 || strings.TrimLeft(s[:i], "= \t\r\n\f") != "" {
			return false
		}
		set, err = guard(versions.MeetingConstraintsString, s[:i]+s[i+1:])
	}
	return err == nil && set.Has(e)
}

func parseModuleTerm(s string) (moduleTerm, error) {
	s = strings.TrimSpace(s)
	n := 0
	for n < len(s) && strings.IndexByte("<>=!~", s[n]) >= 0 {
		n++
	}
	op, text := s[:n], strings.TrimSpace(s[n:])
	if op == "" {
		op = "="
	}
	v, err := ParseModuleVersion(text)
	if err != nil {
		return moduleTerm{}, errors.New("a version is too long")
	}
	if op != "~>" {
		return moduleTerm{op, v, 0}, nil
	}
	numbers := strings.TrimPrefix(text, "v")
	if i := strings.IndexFunc(numbers, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		numbers = numbers[:i]
	}
	return moduleTerm{op, v, strings.Count(numbers, ".") + 1}, nil
}

func (t moduleTerm) compare(o moduleTerm) int {
	return cmp.Or(
		t.version.Compare(o.version),
		cmp.Compare(slices.Index(moduleOperators, t.op), slices.Index(moduleOperators, o.op)),
		cmp.Compare(t.written, o.written),
	)
}

func (t moduleTerm) String() string {
	v := t.version
	switch {
	case t.op == "=":
		return v.String()
	case t.op == "~>" && t.written == 1:
		return fmt.Sprintf("~> %d%s", v.major, v.tail)
	case t.op == "~>" && t.written == 2:
		return fmt.Sprintf("~> %d.%d%s", v.major, v.minor, v.tail)
	}
	return t.op + " " + v.String()
}
