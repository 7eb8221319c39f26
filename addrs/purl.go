package addrs

import (
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

// PURL returns the package URL of the provider, such as
//
//	pkg:terraform/hashicorp/aws@5.31.0?repository_url=registry.opentofu.org
//
// If v is zero, it has no version. The type "terraform" is in a draft of the specification
// (package-url/purl-spec pull request 889), and used by other tools.
func (p Provider) PURL(v Version) string {
	if p.IsZero() {
		return ""
	}
	return purl(p.host, v, p.namespace, p.typ)
}

// PURL returns the package URL of the module, such as
//
//	pkg:terraform/acme/vpc/aws@1.2.0?repository_url=registry.example.com#modules/subnet
//
// It has a segment more than [Provider.PURL].
func (s ModuleSource) PURL(v Version) string {
	if s.Module.IsZero() {
		return ""
	}
	text := purl(s.Module.host, v, s.Module.namespace, s.Module.name, s.Module.system)
	if s.Subdir != "" {
		text += "#" + (&url.URL{Path: s.Subdir}).EscapedPath()
	}
	return text
}

func purl(host svchost.Hostname, v Version, segments ...string) string {
	text := "pkg:terraform"
	for _, segment := range segments {
		text += "/" + url.PathEscape(segment)
	}
	if !v.IsZero() {
		text += "@" + strings.ReplaceAll(v.String(), "+", "%2B")
	}
	return text + "?repository_url=" + host.String()
}
