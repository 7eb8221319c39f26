package addrs

import (
	"cmp"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco/svchost"
)

// Module is the address of a module, such as registry.opentofu.org/terraform-aws-modules/vpc/aws. Case counts, except
// in the hostname.
type Module struct {
	host                    svchost.Hostname
	namespace, name, system string
}

// ParseModule parses [HOSTNAME/]NAMESPACE/NAME/SYSTEM.
//
// Namespace and name are 1 to 64 ASCII letters, digits, hyphens and underscores, with a letter or digit at both ends.
// The system is 1 to 64 lower-case ASCII letters and digits. The hostname must contain a dot, and not be github.com or
// bitbucket.org.
func ParseModule(s string) (Module, error) { return ParseModuleIn(defaultHost, s) }

// ParseModuleIn is [ParseModule] with another default host.
func ParseModuleIn(host svchost.Hostname, s string) (Module, error) {
	return parseModule(host, s, s, kindModule)
}

// MustParseModule is ParseModule, but panics.
func MustParseModule(s string) Module { return must(ParseModule(s)) }

// NewModule is [ParseModule] for separate parts. None may be empty.
func NewModule(host svchost.Hostname, namespace, name, system string) (Module, error) {
	m := Module{host, namespace, name, system}
	reason := checkHost(host)
	if reason == "" {
		reason = m.check()
	}
	if reason != "" {
		return Module{}, refuse(kindModule, host.Display()+"/"+namespace+"/"+name+"/"+system, reason)
	}
	return m, nil
}

// parseModule parses s, which is part of input. Errors have the given kind.
func parseModule(host svchost.Hostname, s, input, kind string) (Module, error) {
	if reason := checkModuleShape(input); reason != "" {
		return Module{}, refuse(kind, input, reason)
	}
	host, reason := orDefault(host)
	if reason != "" {
		return Module{}, refuse(kind, input, reason)
	}
	if strings.Contains(s, "//") {
		return Module{}, refuse(kind, input, "it must have no subdirectory, and no empty parts")
	}
	if strings.Count(s, "/") == 3 {
		name, rest, _ := strings.Cut(s, "/")
		h, err := svchost.Parse(name)
		if err != nil {
			return Module{}, refuse(kind, input, "in the hostname: "+hostReason(err))
		}
		host, s = h, rest
	}
	if strings.Count(s, "/") != 2 {
		return Module{}, refuse(kind, input, "it must be NAMESPACE/NAME/SYSTEM or HOSTNAME/NAMESPACE/NAME/SYSTEM")
	}
	m := Module{host: host}
	m.namespace, s, _ = strings.Cut(s, "/")
	m.name, m.system, _ = strings.Cut(s, "/")
	if reason := m.check(); reason != "" {
		return Module{}, refuse(kind, input, reason)
	}
	return m, nil
}

// checkModuleShape returns the reason if s is a URL, a path or otherwise not an address, or
// "".
func checkModuleShape(s string) string {
	switch {
	case len(s) > maxInput:
		return reasonTooLong
	case strings.Contains(s, "://"), strings.Contains(s, "::"):
		return "the address of a module in a registry is wanted, not a URL"
	case s == ".", s == "..", strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"), strings.HasPrefix(s, "/"):
		return "the address of a module in a registry is wanted, not a path"
	case strings.IndexByte(s, '?') >= 0:
		return "the address of a module in a registry has no query"
	}
	return ""
}

func (m Module) check() string {
	host := m.host.String()
	switch {
	case strings.IndexByte(host, '.') < 0:
		return "the hostname " + host + " must contain a dot"
	case host == "github.com", host == "bitbucket.org":
		return host + " is not a module registry; it starts the source of a module in a repository"
	case !isModuleName(m.namespace):
		if strings.IndexByte(m.namespace, '.') >= 0 {
			return "after a hostname three parts are needed: NAMESPACE/NAME/SYSTEM"
		}
		return "the namespace" + reasonModuleName
	case !isModuleName(m.name):
		return "the name" + reasonModuleName
	case !consists(m.system, maxModulePart, func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' }):
		return "the system must be 1 to 64 lower-case ASCII letters and digits"
	}
	return ""
}

const reasonModuleName = " must be 1 to 64 ASCII letters, digits, hyphens and underscores, with a letter or digit at both ends"

// maxModulePart is the maximum length of a namespace, name or system of a module, in bytes.
const maxModulePart = 64

func isModuleName(s string) bool {
	return consists(s, maxModulePart, func(c byte) bool { return isAlnum(c) || c == '-' || c == '_' }) &&
		isAlnum(s[0]) && isAlnum(s[len(s)-1])
}

// Host returns the registry.
func (m Module) Host() svchost.Hostname { return m.host }

// Namespace returns the namespace.
func (m Module) Namespace() string { return m.namespace }

// Name returns the name.
func (m Module) Name() string { return m.name }

// System returns the target system.
func (m Module) System() string { return m.system }

// String returns HOSTNAME/NAMESPACE/NAME/SYSTEM, in Unicode.
func (m Module) String() string {
	if m.IsZero() {
		return ""
	}
	return m.host.Display() + "/" + m.namespace + "/" + m.name + "/" + m.system
}

// IsZero reports whether m is zero.
func (m Module) IsZero() bool { return m == Module{} }

// Compare orders by part.
func (m Module) Compare(o Module) int {
	return cmp.Or(
		m.host.Compare(o.host),
		strings.Compare(m.namespace, o.namespace),
		strings.Compare(m.name, o.name),
		strings.Compare(m.system, o.system),
	)
}

func (m Module) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

func (m *Module) UnmarshalText(b []byte) error { return unmarshal(m, b, ParseModule) }

// ModuleSource is a module and a directory in its package, as in terraform-aws-modules/iam/aws//modules/iam-user.
type ModuleSource struct {
	Module Module // address
	Subdir string // see [ParseSubdir]; may be empty
}

// ParseModuleSource is [ParseModule] with an optional [ParseSubdir].
func ParseModuleSource(s string) (ModuleSource, error) { return ParseModuleSourceIn(defaultHost, s) }

// ParseModuleSourceIn is [ParseModuleSource] with another default host.
func ParseModuleSourceIn(host svchost.Hostname, s string) (ModuleSource, error) {
	if reason := checkModuleShape(s); reason != "" {
		return ModuleSource{}, refuse(kindModuleSource, s, reason)
	}
	addr, subdir, _ := strings.Cut(s, "//")
	if strings.HasPrefix(subdir, "/") { // the CLI joins it to the package, which it cannot leave
		subdir = path.Clean(subdir)[1:]
	}
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

// MustParseModuleSource is [ParseModuleSource], but panics.
func MustParseModuleSource(s string) ModuleSource { return must(ParseModuleSource(s)) }

// maxSubdir is the maximum length of a subdirectory in bytes. A source with the longest
// subdirectory and the longest address can still be parsed.
const maxSubdir = 2048

// ParseSubdir parses the directory after two slashes in a module source. It returns [path.Clean] of it, or "" for ".".
// It refuses absolute paths, paths out of the package, spaces at the ends, more than 2,048 bytes, unprintable
// characters, question marks, backslashes, colons, and look-alikes of dots, slashes, backslashes and colons.
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
	clean := path.Clean(s)
	switch {
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

// String returns [Module.String], then any Subdir after two slashes.
func (s ModuleSource) String() string {
	if s.Subdir == "" {
		return s.Module.String()
	}
	return s.Module.String() + "//" + s.Subdir
}

// IsZero reports whether s is zero.
func (s ModuleSource) IsZero() bool { return s == ModuleSource{} }

// Compare orders by part.
func (s ModuleSource) Compare(o ModuleSource) int {
	return cmp.Or(s.Module.Compare(o.Module), strings.Compare(s.Subdir, o.Subdir))
}

func (s ModuleSource) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *ModuleSource) UnmarshalText(b []byte) error { return unmarshal(s, b, ParseModuleSource) }
