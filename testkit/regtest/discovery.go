package regtest

import (
	"net/http"
	"net/url"
	"strings"
)

const (
	discoveryPath   = "/.well-known/terraform.json"
	providerService = "providers.v1"
	moduleService   = "modules.v1"
)

// defaultBase returns the path of a service without a URL in Registry.Services.
func defaultBase(service string) string {
	if service == moduleService {
		return "/v1/modules/"
	}
	return "/v1/providers/"
}

// discovery returns the discovery document, at hosts that have one.
func (r *Registry) discovery(c *call) *answer {
	if _, isOne := r.registryAt(c.host); !isOne && !c.anyHost && c.hop.first() {
		return failure(http.StatusNotFound)
	}
	if r.Services != nil {
		return document(r.Services)
	}
	services := map[string]any{providerService: defaultBase(providerService)}
	if r.Login != nil {
		services[loginService] = r.Login.declaration()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.modules) > 0 {
		services[moduleService] = defaultBase(moduleService)
	}
	return document(services)
}

// base returns the path of a service according to the discovery document.
func (r *Registry) base(service string) string {
	ref, ok := r.Services[service].(string)
	if !ok {
		return defaultBase(service)
	}
	u, err := (&url.URL{Scheme: "https", Host: r.host.String(), Path: discoveryPath}).Parse(ref)
	if err != nil {
		return defaultBase(service)
	}
	return strings.TrimSuffix(u.EscapedPath(), "/") + "/"
}
