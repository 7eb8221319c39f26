package addrs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
)

var defaultHost = svchost.MustParse("registry.opentofu.org")

// DefaultHost returns registry.opentofu.org.
func DefaultHost() svchost.Hostname { return defaultHost }

// orDefault returns the default host for addresses, which is host unless it is zero, or the
// reason why host is not valid.
func orDefault(host svchost.Hostname) (h svchost.Hostname, reason string) {
	if host.IsZero() || host == defaultHost {
		return defaultHost, ""
	}
	return host, checkHost(host)
}

// checkHost returns the reason why host cannot be part of an address, or "". The text of a
// host from [svchost.FromWire] may be invalid in an address.
func checkHost(host svchost.Hostname) string {
	if host.IsZero() {
		return "the hostname is missing"
	}
	if h, err := svchost.Parse(host.Display()); err != nil || h != host {
		return "the hostname is not one that an address can have"
	}
	return ""
}

// Provider is the address of a provider, such as registry.opentofu.org/hashicorp/aws.
//
// Namespace and type consist of letters, digits and single hyphens between them. They are normalised to lower case, as
// in a hostname, and have at most 512 bytes, or 63 in punycode if not ASCII. An ASCII namespace can also have
// underscores between its ends, unless [ProviderRules] refuse them.
type Provider struct {
	host           svchost.Hostname
	namespace, typ string
}

const (
	// defaultNamespace is the namespace of an address that is only a type.
	defaultNamespace = "hashicorp"
	// legacyNamespace is the unknown namespace in files from before Terraform 0.13.
	legacyNamespace = "-"
	// builtInNamespace contains the providers that are part of the CLI.
	builtInNamespace = "builtin"
)

// ParseProvider parses TYPE, NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE. The default namespace is hashicorp. A type that
// starts with terraform- or opentofu- is refused. The namespace "-" is valid only at DefaultHost, see
// [Provider.IsLegacy].
func ParseProvider(s string) (Provider, error) { return ParseProviderIn(defaultHost, s) }

// ParseProviderIn is [ParseProvider] with another default host.
func ParseProviderIn(host svchost.Hostname, s string) (Provider, error) {
	return ProviderRules{Host: host}.Parse(s)
}

// ProviderRules are rules of a CLI for its configurations.
type ProviderRules struct {
	Host svchost.Hostname // the default; if zero, [DefaultHost]

	NoUnderscores bool // refuses underscores in a namespace, as OpenTofu does, and Terraform before 1.16
}

// Parse is [ParseProvider] by these rules.
func (r ProviderRules) Parse(s string) (Provider, error) {
	if len(s) > maxInput {
		return Provider{}, refuse(kindProvider, s, reasonTooLong)
	}
	host, reason := orDefault(r.Host)
	if reason != "" {
		return Provider{}, refuse(kindProvider, s, reason)
	}
	namespace, typ := defaultNamespace, s
	switch strings.Count(s, "/") {
	case 0:
	case 1:
		namespace, typ, _ = strings.Cut(s, "/")
	case 2:
		name, rest, _ := strings.Cut(s, "/")
		namespace, typ, _ = strings.Cut(rest, "/")
		h, err := svchost.Parse(name)
		if err != nil {
			return Provider{}, refuse(kindProvider, s, "in the hostname: "+hostReason(err))
		}
		host = h
	default:
		return Provider{}, refuse(kindProvider, s, "it must be TYPE, NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE")
	}
	return r.provider(host, namespace, typ, s)
}

// ParseNamespacedProviderIn is [ParseProviderIn], but refuses TYPE alone.
func ParseNamespacedProviderIn(host svchost.Hostname, s string) (Provider, error) {
	if !strings.Contains(s, "/") {
		return Provider{}, refuse(kindProvider, s, "it must be NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE")
	}
	return ParseProviderIn(host, s)
}

// MustParseProvider is [ParseProvider], but panics.
func MustParseProvider(s string) Provider { return must(ParseProvider(s)) }

// NewProvider is [ParseProvider] for separate parts. None may be empty.
func NewProvider(host svchost.Hostname, namespace, typ string) (Provider, error) {
	input := host.Display() + "/" + namespace + "/" + typ
	if reason := checkHost(host); reason != "" {
		return Provider{}, refuse(kindProvider, input, reason)
	}
	return ProviderRules{}.provider(host, namespace, typ, input)
}

func (r ProviderRules) provider(host svchost.Hostname, namespace, typ, input string) (Provider, error) {
	if namespace != legacyNamespace {
		n, reason := normalisePart(namespace, !r.NoUnderscores)
		if reason != "" {
			return Provider{}, refuse(kindProvider, input, "in the namespace: "+reason)
		}
		namespace = n
	} else if host != defaultHost {
		return Provider{}, refuse(kindProvider, input, `the namespace "-" exists only on `+defaultHost.Display())
	}
	t, reason := normalisePart(typ, false)
	if reason != "" {
		return Provider{}, refuse(kindProvider, input, "in the type: "+reason)
	}
	p := Provider{host, namespace, t}
	prefix := redundantPrefix(t)
	if prefix == "" {
		return p, nil
	}
	e := &ParseError{Kind: kindProvider, Input: fault.Shown(input, maxShown), Reason: `the type must not start with "` + prefix + `"`}
	if rest := strings.TrimPrefix(t, prefix); strings.HasSuffix(prefix, "-provider-") && redundantPrefix(rest) == "" {
		if p.typ, reason = normalisePart(rest, false); reason == "" {
			e.Suggestion = p.String()
			if strings.Count(input, "/") < 2 { // p has the default host of the parser
				e.Suggestion = p.Display()
			}
		}
	}
	return Provider{}, e
}

// redundantPrefix returns the prefix for which a type is refused, or "".
func redundantPrefix(typ string) string {
	for _, prefix := range []string{
		"terraform-provider-", "opentofu-provider-", // repositories
		"terraform-", "opentofu-",
	} {
		if strings.HasPrefix(typ, prefix) {
			return prefix
		}
	}
	return ""
}

// Host returns the origin registry.
func (p Provider) Host() svchost.Hostname { return p.host }

// Namespace returns the namespace in Unicode.
func (p Provider) Namespace() string { return p.namespace }

// Type returns the type in Unicode.
func (p Provider) Type() string { return p.typ }

// String returns HOSTNAME/NAMESPACE/TYPE, in Unicode.
func (p Provider) String() string {
	if p.IsZero() {
		return ""
	}
	return p.host.Display() + "/" + p.namespace + "/" + p.typ
}

// Display is [Provider.String] without [DefaultHost].
func (p Provider) Display() string {
	if p.host == defaultHost {
		return p.namespace + "/" + p.typ
	}
	return p.String()
}

// IsZero reports whether p is zero.
func (p Provider) IsZero() bool { return p == Provider{} }

// IsLegacy reports whether the namespace is "-", from before Terraform 0.13.
func (p Provider) IsLegacy() bool { return p.namespace == legacyNamespace }

// IsBuiltIn reports whether p is part of the CLI: builtin at terraform.io or opentofu.org. Built-in and legacy
// providers cannot be installed or locked.
func (p Provider) IsBuiltIn() bool {
	if p.namespace != builtInNamespace {
		return false
	}
	host := p.host.String()
	return host == "opentofu.org" || host == "terraform.io"
}

// Compare orders by part.
func (p Provider) Compare(o Provider) int {
	return cmp.Or(p.host.Compare(o.host), strings.Compare(p.namespace, o.namespace), strings.Compare(p.typ, o.typ))
}

func (p Provider) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p *Provider) UnmarshalText(b []byte) error { return unmarshal(p, b, ParseProvider) }

// maxPart is the maximum length of a namespace or type in ASCII, in bytes. The length of any
// other part is limited by the length of a label in a hostname.
const maxPart = 512

// normalisePart returns the normal form of a namespace or type of a provider, or the reason
// why it is invalid.
func normalisePart(s string, underscores bool) (part, reason string) {
	upper := false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return partViaHost(s)
		case 'A' <= c && c <= 'Z':
			upper = true
		}
	}
	if reason := checkPart(s, underscores); reason != "" {
		return "", reason
	}
	if upper {
		s = strings.ToLower(s)
	}
	return s, ""
}

// checkPart returns the reason why s, in ASCII, is invalid, or "".
func checkPart(s string, underscores bool) string {
	switch {
	case s == "":
		return "it is empty"
	case len(s) > maxPart:
		return reasonTooLong
	case s[0] == '-' || s[len(s)-1] == '-':
		return "it must not start or end with a hyphen"
	case underscores && (s[0] == '_' || s[len(s)-1] == '_'):
		return "it must not start or end with an underscore"
	}
	for i := range len(s) {
		switch c := s[i]; {
		case isAlnum(c), underscores && c == '_':
		case c != '-':
			return "the character " + strconv.QuoteRune(rune(c)) + " is not allowed"
		case s[i-1] == '-':
			return reasonHyphens
		}
	}
	return ""
}

const reasonHyphens = "it must not have two hyphens in a row"

// partViaHost normalises a part that is not ASCII, as a hostname of one label. The result is
// checked again, because normalisation can produce dots and hyphens, and because symbols,
// which are valid in hostnames, can look like slashes.
func partViaHost(s string) (part, reason string) {
	if strings.IndexByte(s, ':') >= 0 {
		return "", "the character ':' is not allowed"
	}
	host, err := svchost.Parse(s)
	if err != nil {
		return "", hostReason(err)
	}
	part = host.Display()
	switch {
	case strings.IndexByte(part, '.') >= 0:
		return "", "it must not contain a dot"
	case strings.Contains(part, "--"):
		return "", reasonHyphens
	}
	for _, r := range part {
		if r != '-' && !unicode.In(r, unicode.L, unicode.M, unicode.N) {
			return "", fmt.Sprintf("the character %U is not allowed", r)
		}
	}
	return part, ""
}
