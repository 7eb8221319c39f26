package addrs

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	goversion "github.com/hashicorp/go-version"
)

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
	if _, err := goversion.NewConstraint(s); err != nil {
		return "", errors.New("each term must be an optional operator (=, !=, >, >=, <, <=, ~>) and a version with numbers up to 2^63-1")
	}
	terms, err := parseModuleTerms(s)
	if err != nil {
		return "", err
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

func parseModuleTerms(s string) (terms []moduleTerm, err error) {
	for text := range strings.SplitSeq(s, ",") {
		term, err := parseModuleTerm(text)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	return terms, nil
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

// allows reports whether the term allows the release v, by the rules of hashicorp/go-version.
// Calling the library would format v as text for each term.
func (t moduleTerm) allows(v Version) bool {
	order := t.order(v)
	switch t.op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	}
	// ~>
	have, want := v.Segments(), t.version.Segments()
	return order >= 0 && !t.version.IsPrerelease() && len(have) >= len(want) && slices.Equal(have[:t.written-1], want[:t.written-1])
}

// order compares the release v with the version of the term.
func (t moduleTerm) order(v Version) int {
	more, _, _ := v.cut()
	moreT, pre, _ := t.version.cut()
	order := cmp.Or(
		cmp.Compare(v.major, t.version.major),
		cmp.Compare(v.minor, t.version.minor),
		cmp.Compare(v.patch, t.version.patch),
		compareNumbers(more, moreT),
	)
	if order == 0 && pre != "" && strings.Count(more, ".") == strings.Count(moreT, ".") {
		return +1
	}
	return order // if one has more zeros, the library ignores the prerelease
}

func (t moduleTerm) compare(o moduleTerm) int {
	return cmp.Or(
		t.version.Compare(o.version),
		cmp.Compare(slices.Index(moduleOperators, t.op), slices.Index(moduleOperators, o.op)),
		cmp.Compare(t.written, o.written),
	)
}

func (t moduleTerm) String() string {
	switch t.op {
	case "=":
		return t.version.String()
	case "~>":
		return "~> " + t.shortVersion()
	}
	return t.op + " " + t.version.String()
}

// shortVersion returns the version with as many numbers as were written.
func (t moduleTerm) shortVersion() string {
	v := t.version
	if t.written >= 3 {
		return v.String()
	}
	s := strconv.FormatUint(v.major, 10)
	if t.written == 2 {
		s += "." + strconv.FormatUint(v.minor, 10)
	}
	return s + v.tail
}
