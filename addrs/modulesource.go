package addrs

import (
	"cmp"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco/svchost"
)

// ModuleSource is a module in a registry and, after two slashes, a directory in its package,
// as in terraform-aws-modules/iam/aws//modules/iam-user.
type ModuleSource struct {
	Module Module // the address
	// Subdir has slashes; empty for the package itself. Only parsers check that it is inside.
	Subdir string
}

// ParseModuleSource parses a module address and optional directory, see [ParseModule] and
// [ParseSubdir]. Paths and URLs are refused.
func ParseModuleSource(s string) (ModuleSource, error) { return ParseModuleSourceIn(defaultHost, s) }

// ParseModuleSourceIn is like [ParseModuleSource] with host as the default, or [DefaultHost]
// if zero.
func ParseModuleSourceIn(host svchost.Hostname, s string) (ModuleSource, error) {
	if reason := checkModuleShape(s); reason != "" {
		return ModuleSource{}, refuse(kindModuleSource, s, reason)
	}
	addr, subdir, _ := strings.Cut(s, "//")
	m, err := parseModule(host, addr, s, kindModuleSource)
	if err != nil {
		return ModuleSource{}, err
	}
	subdir, err = ParseSubdir(subdir)
	if e, ok := err.(*ParseError); ok {
		return ModuleSource{}, refuse(kindModuleSource, s, e.Reason)
	}
	return ModuleSource{m, subdir}, nil
}

// MustParseModuleSource is like [ParseModuleSource], but panics on errors.
func MustParseModuleSource(s string) ModuleSource { return must(ParseModuleSource(s)) }

// maxSubdir is the maximum length of a subdirectory in bytes. A source with the longest
// subdirectory and the longest address can still be parsed.
const maxSubdir = 2048

// ParseSubdir parses the directory that follows two slashes in the source of a module. It
// returns the result of [path.Clean], and "" for "" and ".".
//
// A directory that is absolute or leads out of the package is refused. So are spaces at the
// ends, more than 2,048 bytes, unprintable characters, question marks, backslashes, colons,
// and characters that look like dots, slashes, backslashes or colons.
func ParseSubdir(s string) (string, error) {
	if reason := checkSubdir(s); reason != "" {
		return "", refuse(kindSubdir, s, reason)
	}
	if clean := path.Clean(s); clean != "." {
		return clean, nil
	}
	return "", nil
}

// lookalikes are characters whose compatibility decomposition contains . / \ or :.
const lookalikes = "\u2024\u2025\u2026\ufe13\ufe52\ufe55\ufe68\uff0e\uff0f\uff1a\uff3c"

func checkSubdir(s string) string {
	bad := func(r rune) bool { return strings.ContainsRune(`\:?`, r) || !unicode.IsPrint(r) }
	switch clean := path.Clean(s); {
	case len(s) > maxSubdir:
		return reasonTooLong
	case path.IsAbs(s):
		return "the subdirectory must not be absolute"
	case clean == "..", strings.HasPrefix(clean, "../"):
		return "the subdirectory leads out of the package"
	case strings.TrimSpace(clean) != clean, strings.TrimSpace(s) != s:
		return "the subdirectory must not start or end with a space"
	case !utf8.ValidString(s), strings.ContainsFunc(s, bad):
		return "the subdirectory must not contain backslashes, colons, question marks or unprintable characters"
	case strings.ContainsAny(s, lookalikes):
		return "the subdirectory must not contain other forms of dots, slashes, backslashes and colons"
	}
	return ""
}

// String returns [Module.String] and, after two slashes, any Subdir.
func (s ModuleSource) String() string { return s.with(s.Module.String()) }

// Display is like [ModuleSource.String] without [DefaultHost].
func (s ModuleSource) Display() string { return s.with(s.Module.Display()) }

func (s ModuleSource) with(addr string) string {
	if s.Subdir == "" {
		return addr
	}
	return addr + "//" + s.Subdir
}

// IsZero reports whether s is zero.
func (s ModuleSource) IsZero() bool { return s == ModuleSource{} }

// Compare orders by module and subdirectory.
func (s ModuleSource) Compare(o ModuleSource) int {
	return cmp.Or(s.Module.Compare(o.Module), strings.Compare(s.Subdir, o.Subdir))
}

// MarshalText returns [ModuleSource.String].
func (s ModuleSource) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses as [ParseModuleSource] does.
func (s *ModuleSource) UnmarshalText(b []byte) error { return unmarshal(s, b, ParseModuleSource) }
