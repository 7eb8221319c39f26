package regtest

import (
	"net/http"
	"net/url"
	"strings"
)

const (
	discoveryPath   = "/.well-known/terraform.json"
	defaultBase     = "/v1/providers/"
	providerService = "providers.v1"
)

// discovery answers with the discovery document, at hosts that have one.
func (r *Registry) discovery(c *call) *answer {
	if _, isOne := r.registryAt(c.host); !isOne && !c.anyHost && c.hop.first() {
		return failure(http.StatusNotFound)
	}
	if r.Services == nil {
		return document(map[string]any{providerService: defaultBase})
	}
	return document(r.Services)
}

// base returns the path of the provider API, which the discovery document
// gives.
func (r *Registry) base() string {
	ref, ok := r.Services[providerService].(string)
	if !ok {
		return defaultBase
	}
	u, err := (&url.URL{Scheme: "https", Host: r.Host(), Path: discoveryPath}).Parse(ref)
	if err != nil {
		return defaultBase
	}
	return strings.TrimSuffix(u.EscapedPath(), "/") + "/"
}
