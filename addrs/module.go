package addrs

import (
	"cmp"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

// Module is the address of a module: a host, a namespace, a name and a target system, as in
// registry.opentofu.org/terraform-aws-modules/vpc/aws. Unlike in a [Provider], case counts.
type Module struct {
	host                    svchost.Hostname
	namespace, name, system string
}

// ParseModule parses [HOSTNAME/]NAMESPACE/NAME/SYSTEM.
//
// Namespace and name are 1 to 64 ASCII letters, digits, hyphens and underscores, with a letter
// or digit at both ends. The system is 1 to 64 lower-case ASCII letters and digits. As in the
// CLI, the hostname must contain a dot, and not be github.com or bitbucket.org.
func ParseModule(s string) (Module, error) { return ParseModuleIn(defaultHost, s) }

// ParseModuleIn is like [ParseModule] with host as the default, or [DefaultHost] if zero.
func ParseModuleIn(host svchost.Hostname, s string) (Module, error) {
	return parseModule(host, s, s, kindModule)
}

// MustParseModule is like [ParseModule], but panics on errors.
func MustParseModule(s string) Module { return must(ParseModule(s)) }

// NewModule returns the address with these parts, checked as by [ParseModule]. A zero host is
// refused.
func NewModule(host svchost.Hostname, namespace, name, system string) (Module, error) {
	m := Module{host, namespace, name, system}
	reason := checkHost(host)
	if reason == "" {
		reason = m.check()
	}
	if reason != "" {
		return Module{}, refuse(kindModule, strings.Join([]string{host.Display(), namespace, name, system}, "/"), reason)
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
	switch host := m.host.String(); {
	case strings.IndexByte(host, '.') < 0:
		return "the hostname must contain a dot"
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

// Namespace returns the namespace in its original case.
func (m Module) Namespace() string { return m.namespace }

// Name returns the name in its original case.
func (m Module) Name() string { return m.name }

// System returns the target system.
func (m Module) System() string { return m.system }

// String returns HOSTNAME/NAMESPACE/NAME/SYSTEM with the hostname in Unicode.
func (m Module) String() string {
	if m.IsZero() {
		return ""
	}
	return m.host.Display() + "/" + m.path()
}

// Display is like [Module.String] without [DefaultHost].
func (m Module) Display() string {
	if m.host == defaultHost {
		return m.path()
	}
	return m.String()
}

func (m Module) path() string { return m.namespace + "/" + m.name + "/" + m.system }

// IsZero reports whether m is zero.
func (m Module) IsZero() bool { return m == Module{} }

// Compare orders by host, namespace, name and system.
func (m Module) Compare(o Module) int {
	return cmp.Or(
		m.host.Compare(o.host),
		strings.Compare(m.namespace, o.namespace),
		strings.Compare(m.name, o.name),
		strings.Compare(m.system, o.system),
	)
}

// MarshalText returns [Module.String].
func (m Module) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses as [ParseModule] does.
func (m *Module) UnmarshalText(b []byte) error { return unmarshal(m, b, ParseModule) }
