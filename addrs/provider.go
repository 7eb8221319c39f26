package addrs

import (
	"cmp"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

// Provider is the address of a provider: the host of its origin registry, a namespace on
// that host and a type, as in registry.opentofu.org/hashicorp/aws.
//
// Namespace and type are normalised like a label of a hostname: case is folded and Unicode
// is kept. They consist of letters, digits and single hyphens between them, and are at most
// 512 bytes long, or 63 in punycode if they are not ASCII.
// Addresses that mean the same provider are equal. The zero Provider is no provider.
type Provider struct {
	host           svchost.Hostname
	namespace, typ string
}

const (
	// defaultNamespace is the namespace of a one-part address.
	defaultNamespace = "hashicorp"
	// legacyNamespace marks addresses from before namespaces existed.
	legacyNamespace = "-"
	// builtInNamespace, on one of two hosts, marks providers inside the CLI.
	builtInNamespace = "builtin"
)

// ParseProvider parses TYPE, NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE, where the missing
// hostname is [DefaultHost] and the missing namespace is hashicorp, as in the CLI.
//
// A type with one of the prefixes terraform- and opentofu- is refused; where a repository
// name such as terraform-provider-aws was given, the error suggests the address. The
// namespace "-" of addresses from before version 0.13 is accepted on DefaultHost only; see
// [Provider.IsLegacy]. The error is a *[ParseError].
func ParseProvider(s string) (Provider, error) { return ParseProviderIn(defaultHost, s) }

// ParseProviderIn is like [ParseProvider] with another default host, for programs that serve
// a tool or a company with its own. The zero Hostname means [DefaultHost]; a host that only
// [svchost.FromWire] accepts is refused.
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

// ParseQualifiedProvider parses HOSTNAME/NAMESPACE/TYPE and fills in nothing: an address
// without a hostname is an error. It is for formats in which the address is always written
// in full, such as lock files. The error is a *[ParseError].
func ParseQualifiedProvider(s string) (Provider, error) {
	if n := strings.Count(s, "/"); n < 2 && len(s) <= maxInput {
		return Provider{}, refuse(kindProvider, s, "it must be HOSTNAME/NAMESPACE/TYPE")
	}
	return ParseProvider(s)
}

// MustParseProvider is like [ParseProvider] but panics on an error. It is for addresses that
// are constants in the program.
func MustParseProvider(s string) Provider { return must(ParseProvider(s)) }

// NewProvider returns the address with these parts, which are normalised and checked like
// those of [ParseProvider]. The host must be neither zero nor one that only
// [svchost.FromWire] accepts. The error is a *[ParseError].
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

// redundantPrefix returns the prefix that makes a type unacceptable, or "".
func redundantPrefix(typ string) string {
	for _, prefix := range []string{
		"terraform-provider-", "opentofu-provider-", // a repository's name
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

// Host returns the host of the provider's origin registry.
func (p Provider) Host() svchost.Hostname { return p.host }

// Namespace returns the namespace, in lower case.
func (p Provider) Namespace() string { return p.namespace }

// Type returns the type, in lower case.
func (p Provider) Type() string { return p.typ }

// String returns HOSTNAME/NAMESPACE/TYPE with the hostname in Unicode, which is the form in
// lock files and directory names. The zero Provider gives "".
func (p Provider) String() string {
	if p.IsZero() {
		return ""
	}
	return p.host.Display() + "/" + p.namespace + "/" + p.typ
}

// Display returns the form for people: that of [Provider.String], without the hostname where
// it is [DefaultHost].
func (p Provider) Display() string {
	if p.host == defaultHost {
		return p.namespace + "/" + p.typ
	}
	return p.String()
}

// IsZero reports whether p is the zero Provider.
func (p Provider) IsZero() bool { return p == Provider{} }

// IsLegacy reports whether p has the namespace "-", which stands for an unknown namespace in
// files from before version 0.13. Such a provider can be neither installed nor locked.
func (p Provider) IsLegacy() bool { return p.namespace == legacyNamespace }

// IsBuiltIn reports whether p is part of the CLI itself, as terraform.io/builtin/terraform
// is. Such a provider can be neither installed nor locked.
func (p Provider) IsBuiltIn() bool {
	if p.namespace != builtInNamespace {
		return false
	}
	host := p.host.String()
	return host == "opentofu.org" || host == "terraform.io"
}

// Compare orders addresses by host, namespace and type. It returns -1, 0 or +1, and 0 only
// when p == o.
func (p Provider) Compare(o Provider) int {
	return cmp.Or(p.host.Compare(o.host), strings.Compare(p.namespace, o.namespace), strings.Compare(p.typ, o.typ))
}

// MarshalText returns the form of [Provider.String]. It never fails.
func (p Provider) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what [ParseProvider] accepts; the empty text is the zero Provider.
func (p *Provider) UnmarshalText(b []byte) error { return unmarshal(p, b, ParseProvider) }

// unmarshal is the UnmarshalText of all types of this package.
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
