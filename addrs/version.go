package addrs

import (
	"cmp"
	"strconv"
	"strings"
)

// Version is the version of a provider or a module. The zero Version differs from 0.0.0.
type Version struct {
	major, minor, patch uint64
	// tail is the rest of the canonical form: more numbers, each after a dot, a prerelease
	// after a hyphen, and metadata after a plus sign. It is empty for nearly all versions.
	tail string
	ok   bool // false in the zero Version only
}

// String returns the canonical form, such as 1.2.3-beta.1+build.5: at least three numbers,
// without leading zeros and without "v".
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

// IsZero reports whether v is zero. It is false for 0.0.0.
func (v Version) IsZero() bool { return !v.ok }

// IsPrerelease reports whether Prerelease is not empty.
func (v Version) IsPrerelease() bool { return v.Prerelease() != "" }

// Prerelease returns "beta.1" of 1.2.3-beta.1, for example.
func (v Version) Prerelease() string {
	_, pre, _ := v.cut()
	return pre
}

// Metadata returns "build.5" of 1.2.3+build.5, for example.
func (v Version) Metadata() string {
	_, _, meta := v.cut()
	return meta
}

// Segments returns the numbers: three for a provider, three or more for a module, nil for the
// zero Version.
func (v Version) Segments() []uint64 {
	if !v.ok {
		return nil
	}
	segments := []uint64{v.major, v.minor, v.patch}
	more, _, _ := v.cut()
	for more != "" {
		var n uint64
		n, more = cutNumber(more)
		segments = append(segments, n)
	}
	return segments
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

// Compare orders by precedence as in Semantic Versioning, with missing numbers as 0. It
// orders versions of equal precedence by their text, so it returns 0 only if v == o,
// otherwise -1 or +1. The zero Version comes first.
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
	numA, numB := isNumber(a), isNumber(b)
	switch {
	case numA && numB:
		return compareDigits(strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0"))
	case numA != numB:
		return compareBool(numB, numA)
	}
	return strings.Compare(a, b)
}

// compareDigits compares numbers of any length without leading zeros.
func compareDigits(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
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

func isNumber(s string) bool { return consists(s, maxVersion, isDigit) }

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

// MarshalText returns [Version.String].
func (v Version) MarshalText() ([]byte, error) {
	if !v.ok {
		return nil, nil
	}
	return v.append(nil), nil
}

// UnmarshalText parses the text as [ParseVersion] or else [ParseModuleVersion] does.
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
