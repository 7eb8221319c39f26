package addrs

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/tofureg/tofureg/internal/fault"
)

// Version is the version of a provider or a module. The zero Version differs from 0.0.0.
type Version struct {
	major, minor, patch uint64
	// tail is the rest of the canonical form: more numbers, each after a dot, a prerelease
	// after a hyphen, and metadata after a plus sign. It is empty for nearly all versions.
	tail string
	ok   bool // false in the zero Version only
}

// String returns the canonical form, such as 1.2.3-beta.1+build.5: three or more numbers, without leading zeros or "v".
func (v Version) String() string {
	if !v.ok {
		return ""
	}
	var buf [64]byte
	return string(v.append(buf[:0]))
}

func (v Version) append(b []byte) []byte {
	b = strconv.AppendUint(b, v.major, 10)
	b = append(b, '.')
	b = strconv.AppendUint(b, v.minor, 10)
	b = append(b, '.')
	b = strconv.AppendUint(b, v.patch, 10)
	return append(b, v.tail...)
}

// IsZero reports whether v is zero.
func (v Version) IsZero() bool { return !v.ok }

// IsPrerelease reports whether v has a prerelease part.
func (v Version) IsPrerelease() bool {
	_, pre, _ := v.cut()
	return pre != ""
}

// cut splits the tail into further numbers with their dots, prerelease and metadata.
func (v Version) cut() (more, pre, meta string) {
	if v.tail == "" {
		return "", "", ""
	}
	rest, meta, _ := strings.Cut(v.tail, "+")
	more, pre, _ = strings.Cut(rest, "-")
	return more, pre, meta
}

// Compare orders by precedence as in Semantic Versioning, then by text. It returns 0 only if v == o. The zero Version
// comes first.
func (v Version) Compare(o Version) int {
	switch {
	case v.ok != o.ok:
		return compareBool(v.ok, o.ok)
	case v.major != o.major:
		return cmp.Compare(v.major, o.major)
	case v.minor != o.minor:
		return cmp.Compare(v.minor, o.minor)
	case v.patch != o.patch:
		return cmp.Compare(v.patch, o.patch)
	case v.tail != o.tail:
		return v.compareTail(o)
	}
	return 0
}

func (v Version) compareTail(o Version) int {
	more, pre, meta := v.cut()
	moreO, preO, metaO := o.cut()
	return cmp.Or(
		compareNumbers(more, moreO),
		comparePrerelease(pre, preO),
		strings.Compare(pre, preO),
		strings.Compare(meta, metaO),
		cmp.Compare(len(more), len(moreO)),
	)
}

// compareNumbers compares lists such as ".4.15".
func compareNumbers(a, b string) int {
	for a != "" || b != "" {
		var x, y uint64
		x, a = cutNumber(a)
		y, b = cutNumber(b)
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// cutNumber cuts the first number off a list such as ".4.15". It returns 0 for an empty list.
func cutNumber(s string) (n uint64, rest string) {
	if s == "" {
		return 0, ""
	}
	end := strings.IndexByte(s[1:], '.') + 1
	if end == 0 {
		end = len(s)
	}
	n, _ = strconv.ParseUint(s[1:end], 10, 64) // the number that append wrote
	return n, s[end:]
}

// comparePrerelease compares prerelease parts by precedence. The empty part comes last.
func comparePrerelease(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return +1
	case b == "":
		return -1
	}
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		if c := compareIdentifier(x, y); c != 0 {
			return c
		}
		if !moreA || !moreB {
			return compareBool(moreA, moreB)
		}
		a, b = restA, restB
	}
}

// compareIdentifier compares identifiers of a prerelease: numbers by value and before all
// others, the others in ASCII order.
func compareIdentifier(a, b string) int {
	numA, numB := consists(a, maxVersion, isDigit), consists(b, maxVersion, isDigit)
	if numA != numB {
		return compareBool(numB, numA)
	}
	if numA { // of any length
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		if len(a) != len(b) {
			return cmp.Compare(len(a), len(b))
		}
	}
	return strings.Compare(a, b)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return +1
	}
	return -1
}

// consists reports whether s has 1 to max bytes, all in one class.
func consists(s string, max int, class func(byte) bool) bool {
	for i := range len(s) {
		if !class(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= max
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isAlnum compares letters in lower case, since the bit 0x20 distinguishes the cases.
func isAlnum(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || isDigit(c) }

func (v Version) MarshalText() ([]byte, error) { return v.AppendText(nil) }

// AppendText appends String to b.
func (v Version) AppendText(b []byte) ([]byte, error) {
	if !v.ok {
		return b, nil
	}
	return v.append(b), nil
}

// UnmarshalText parses as [ParseVersion] or else [ParseModuleVersion] does.
func (v *Version) UnmarshalText(b []byte) error {
	return unmarshal(v, b, func(s string) (Version, error) {
		parsed, err := ParseVersion(s)
		if err != nil {
			if m, merr := ParseModuleVersion(s); merr == nil {
				return m, nil
			}
		}
		return parsed, err
	})
}

// maxVersion is the maximum length of a version in bytes, as it is written and in its
// canonical form.
const maxVersion = 256

// tooLong reports whether the canonical form of v, which was parsed from s, is too long.
func tooLong(v Version, s string) bool {
	const grows = len(".0.0-") // at most
	return len(s)+grows > maxVersion && len(v.append(nil)) > maxVersion
}

// ParseVersion parses a provider version: one to three numbers up to 2^64-1, then optionally a prerelease after a
// hyphen and metadata after a plus sign, of ASCII letters, digits, dots and hyphens. Missing numbers are 0. A leading
// "v" and spaces are refused.
func ParseVersion(s string) (Version, error) {
	if len(s) > maxVersion {
		return Version{}, refuse(kindVersion, s, reasonTooLong)
	}
	v, i, reason := scanNumbers(s)
	if reason != "" {
		return Version{}, refuseVersion(s, reason)
	}
	if i == len(s) {
		return v, nil
	}
	pre := scanExtra(s, i, '-')
	meta := scanExtra(s, pre, '+')
	rest := s[meta:]
	// The CLI accepts an empty prerelease and empty metadata.
	empty := rest == "-" && meta == i || rest == "+" && meta == pre
	if rest != "" && !empty {
		return Version{}, refuseVersion(s, "the text after the numbers is neither a prerelease nor metadata")
	}
	v.tail = s[i:meta]
	if tooLong(v, s) {
		return Version{}, refuse(kindVersion, s, reasonTooLong)
	}
	v.tail = strings.Clone(v.tail)
	return v, nil
}

// MustParseVersion is [ParseVersion], but panics.
func MustParseVersion(s string) Version { return must(ParseVersion(s)) }

// scanNumbers reads up to three numbers and returns the index after them. Like the CLI, it
// accepts a dot at the end.
func scanNumbers(s string) (v Version, next int, reason string) {
	v.ok = true
	for n, i := 0, 0; ; n++ {
		start := i
		var x uint64
		for i < len(s) && isDigit(s[i]) {
			x = x*10 + uint64(s[i]-'0')
			i++
		}
		switch {
		case i == start && (n == 0 || i < len(s)):
			return Version{}, 0, "it must start with one to three numbers with dots between them"
		case i == start:
			return v, i, ""
		case i-start > 19: // the accumulator may have overflown
			var err error
			if x, err = strconv.ParseUint(s[start:i], 10, 64); err != nil {
				return Version{}, 0, "a number is larger than 2^64-1"
			}
		}
		switch n {
		case 0:
			v.major = x
		case 1:
			v.minor = x
		case 2:
			v.patch = x
		default:
			return Version{}, 0, "it must not have more than three numbers"
		}
		if i == len(s) || s[i] != '.' {
			return v, i, ""
		}
		i++
	}
}

// scanExtra returns the index after mark and the characters that may follow it, or i if s
// does not continue with both.
func scanExtra(s string, i int, mark byte) int {
	if i == len(s) || s[i] != mark {
		return i
	}
	j := i + 1
	for j < len(s) && isExtra(s[j]) {
		j++
	}
	if j == i+1 {
		return i
	}
	return j
}

func isExtra(c byte) bool { return isAlnum(c) || c == '.' || c == '-' }

func refuseVersion(s, reason string) error {
	t := strings.TrimSpace(s)
	switch {
	case t == "":
		reason = "it is empty"
	case strings.ContainsAny(t[:1], "<>=!~^*,"):
		return refuse(kindVersion, s, "a single version is wanted, not a constraint")
	case t != s:
		reason = "it must not have spaces around it"
	case t[0] == 'v' || t[0] == 'V':
		reason = `it must not start with "v"`
	}
	if t = strings.TrimLeft(t, "vV"); t != s && t != "" {
		if v, err := ParseVersion(t); err == nil {
			return &ParseError{Kind: kindVersion, Input: fault.Shown(s, maxShown), Reason: reason, Suggestion: v.String()}
		}
	}
	return refuse(kindVersion, s, reason)
}

// ParseModuleVersion parses a module version. Unlike [ParseVersion], it accepts a leading "v", more than three numbers,
// and 1.0.0beta. It refuses numbers above 2^63-1, and empty identifiers as in 1.0.0-a..b.
func ParseModuleVersion(s string) (Version, error) {
	if len(s) > maxVersion {
		return Version{}, refuse(kindModuleVersion, s, reasonTooLong)
	}
	plain := strings.TrimPrefix(s, "v")
	if v, i, reason := scanNumbers(plain); reason == "" && i == len(plain) && plain[i-1] != '.' &&
		max(v.major, v.minor, v.patch) <= math.MaxInt64 {
		return v, nil
	}
	e, err := goversion.NewVersion(s)
	if err != nil {
		reason := "it is not a version such as 1.2.3 or v1.2.3-beta.1"
		if strings.Contains(err.Error(), "out of range") {
			reason = "a number is larger than 2^63-1"
		}
		return Version{}, refuse(kindModuleVersion, s, reason)
	}
	n := e.Segments64() // at least three, never negative
	var tail []byte
	for _, x := range n[3:] {
		tail = append(tail, '.')
		tail = strconv.AppendInt(tail, x, 10)
	}
	if pre := e.Prerelease(); pre != "" {
		tail = append(append(tail, '-'), pre...)
	}
	if meta := e.Metadata(); meta != "" {
		tail = append(append(tail, '+'), meta...)
	}
	v := Version{major: uint64(n[0]), minor: uint64(n[1]), patch: uint64(n[2]), tail: string(tail), ok: true}
	if tooLong(v, s) {
		return Version{}, refuse(kindModuleVersion, s, reasonTooLong)
	}
	return v, nil
}

// MustParseModuleVersion is [ParseModuleVersion], but panics.
func MustParseModuleVersion(s string) Version { return must(ParseModuleVersion(s)) }
