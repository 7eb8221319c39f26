package addrs

import (
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

// PURL returns the package URL, without a version if v is zero. The type is from a draft (package-url/purl-spec pull
// request 889):
//
//	pkg:terraform/hashicorp/aws@5.31.0?repository_url=registry.opentofu.org
func (p Provider) PURL(v Version) string {
	if p.IsZero() {
		return ""
	}
	return purl(p.host, v, p.namespace, p.typ)
}

// PURL is like [Provider.PURL], with one more segment.
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
