package addrs

import (
	"cmp"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

// Provider is the address of a provider: a host, a namespace and a type, as in
// registry.opentofu.org/hashicorp/aws.
//
// Namespace and type consist of letters, digits and single hyphens between them. They are
// normalised to lower case, like labels of a hostname, and have at most 512 bytes, or 63 in
// punycode if they are not ASCII.
type Provider struct {
	host           svchost.Hostname
	namespace, typ string
}

const (
	// defaultNamespace is the namespace of an address that is only a type.
	defaultNamespace = "hashicorp"
	// legacyNamespace is the unknown namespace in files from before version 0.13.
	legacyNamespace = "-"
	// builtInNamespace contains the providers that are part of the CLI.
	builtInNamespace = "builtin"
)

// ParseProvider parses TYPE, NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE. The default namespace
// is hashicorp, as in the CLI. A type that starts with terraform- or opentofu- is refused.
// The namespace "-" is valid only at [DefaultHost], see [Provider.IsLegacy].
func ParseProvider(s string) (Provider, error) { return ParseProviderIn(defaultHost, s) }

// ParseProviderIn is like [ParseProvider] with host as the default, or [DefaultHost] if zero.
func ParseProviderIn(host svchost.Hostname, s string) (Provider, error) {
	if len(s) > maxInput {
		return Provider{}, refuse(kindProvider, s, reasonTooLong)
	}
	host, reason := orDefault(host)
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
	return newProvider(host, namespace, typ, s)
}

// ParseQualifiedProvider parses HOSTNAME/NAMESPACE/TYPE, and refuses shorter addresses.
func ParseQualifiedProvider(s string) (Provider, error) {
	if n := strings.Count(s, "/"); n < 2 && len(s) <= maxInput {
		return Provider{}, refuse(kindProvider, s, "it must be HOSTNAME/NAMESPACE/TYPE")
	}
	return ParseProvider(s)
}

// MustParseProvider is like [ParseProvider], but panics on errors.
func MustParseProvider(s string) Provider { return must(ParseProvider(s)) }

// NewProvider returns the address with these parts, normalised and checked as by
// [ParseProvider]. A zero host is refused.
func NewProvider(host svchost.Hostname, namespace, typ string) (Provider, error) {
	input := host.Display() + "/" + namespace + "/" + typ
	if reason := checkHost(host); reason != "" {
		return Provider{}, refuse(kindProvider, input, reason)
	}
	return newProvider(host, namespace, typ, input)
}

func newProvider(host svchost.Hostname, namespace, typ, input string) (Provider, error) {
	if namespace != legacyNamespace {
		n, reason := normalisePart(namespace)
		if reason != "" {
			return Provider{}, refuse(kindProvider, input, "in the namespace: "+reason)
		}
		namespace = n
	} else if host != defaultHost {
		return Provider{}, refuse(kindProvider, input, `the namespace "-" exists only on `+defaultHost.Display())
	}
	t, reason := normalisePart(typ)
	if reason != "" {
		return Provider{}, refuse(kindProvider, input, "in the type: "+reason)
	}
	p := Provider{host, namespace, t}
	if prefix := redundantPrefix(t); prefix != "" {
		return Provider{}, p.refusePrefix(input, prefix)
	}
	return p, nil
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

func (p Provider) refusePrefix(input, prefix string) error {
	reason := `the type must not start with "` + prefix + `"`
	if rest := strings.TrimPrefix(p.typ, prefix); strings.HasSuffix(prefix, "-provider-") && redundantPrefix(rest) == "" {
		if t, bad := normalisePart(rest); bad == "" {
			return suggest(kindProvider, input, reason, Provider{p.host, p.namespace, t}.Display())
		}
	}
	return refuse(kindProvider, input, reason)
}

// Host returns the origin registry.
func (p Provider) Host() svchost.Hostname { return p.host }

// Namespace returns the namespace in lower case.
func (p Provider) Namespace() string { return p.namespace }

// Type returns the type in lower case.
func (p Provider) Type() string { return p.typ }

// String returns HOSTNAME/NAMESPACE/TYPE with the hostname in Unicode.
func (p Provider) String() string {
	if p.IsZero() {
		return ""
	}
	return p.host.Display() + "/" + p.namespace + "/" + p.typ
}

// Display is like [Provider.String] without [DefaultHost].
func (p Provider) Display() string {
	if p.host == defaultHost {
		return p.namespace + "/" + p.typ
	}
	return p.String()
}

// IsZero reports whether p is zero.
func (p Provider) IsZero() bool { return p == Provider{} }

// IsLegacy reports whether the namespace is "-", from before version 0.13. Such a provider
// cannot be installed or locked.
func (p Provider) IsLegacy() bool { return p.namespace == legacyNamespace }

// IsBuiltIn reports whether p is part of the CLI, like terraform.io/builtin/terraform. It
// cannot be installed or locked.
func (p Provider) IsBuiltIn() bool {
	if p.namespace != builtInNamespace {
		return false
	}
	host := p.host.String()
	return host == "opentofu.org" || host == "terraform.io"
}

// Compare orders by host, namespace and type.
func (p Provider) Compare(o Provider) int {
	return cmp.Or(p.host.Compare(o.host), strings.Compare(p.namespace, o.namespace), strings.Compare(p.typ, o.typ))
}

// MarshalText returns [Provider.String].
func (p Provider) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses as [ParseProvider] does.
func (p *Provider) UnmarshalText(b []byte) error { return unmarshal(p, b, ParseProvider) }

// unmarshal implements UnmarshalText of all types of this package.
func unmarshal[T any](dst *T, b []byte, parse func(string) (T, error)) error {
	var v T
	if len(b) > 0 {
		var err error
		if v, err = parse(string(b)); err != nil {
			return err
		}
	}
	*dst = v
	return nil
}
