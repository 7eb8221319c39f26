package addrs

import (
	"math"
	"strconv"
	"strings"

	goversion "github.com/hashicorp/go-version"
)

// maxVersion is the maximum length of a version in bytes, as it is written and in its
// canonical form.
const maxVersion = 256

// tooLong reports whether the canonical form of v, which was parsed from s, is too long.
func tooLong(v Version, s string) bool {
	const grows = len(".0.0-") // at most
	return len(s)+grows > maxVersion && len(v.append(nil)) > maxVersion
}

// ParseVersion parses a version of a provider as the CLI does: one to three numbers up to
// 2^64-1, then optionally a prerelease after a hyphen and metadata after a plus sign. Missing
// numbers are 0. Prerelease and metadata consist of ASCII letters, digits, dots and hyphens.
// A leading "v" and spaces are refused.
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
	switch rest := s[meta:]; {
	case rest == "":
	case rest == "-" && meta == i, rest == "+" && meta == pre:
		// The CLI accepts an empty prerelease and empty metadata.
	default:
		return Version{}, refuseVersion(s, "the text after the numbers is neither a prerelease nor metadata")
	}
	v.tail = s[i:meta]
	if tooLong(v, s) {
		return Version{}, refuse(kindVersion, s, reasonTooLong)
	}
	v.tail = strings.Clone(v.tail)
	return v, nil
}

// MustParseVersion is like [ParseVersion], but panics on errors.
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
			return suggest(kindVersion, s, reason, v.String())
		}
	}
	return refuse(kindVersion, s, reason)
}

// ParseModuleVersion parses a version of a module as the CLI does. Unlike [ParseVersion], it
// accepts a leading "v", more than three numbers, and a prerelease without hyphen if it
// starts with a letter. Numbers end at 2^63-1, and empty identifiers are refused.
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
	v := fromEngine(e)
	if tooLong(v, s) {
		return Version{}, refuse(kindModuleVersion, s, reasonTooLong)
	}
	return v, nil
}

// MustParseModuleVersion is like [ParseModuleVersion], but panics on errors.
func MustParseModuleVersion(s string) Version { return must(ParseModuleVersion(s)) }

func fromEngine(e *goversion.Version) Version {
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
	return Version{major: uint64(n[0]), minor: uint64(n[1]), patch: uint64(n[2]), tail: string(tail), ok: true}
}
