package regtest

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A Registry is made by [New]. Methods are safe for concurrent use. Set the fields before the first request.
type Registry struct {
	Latency time.Duration // of every answer and redirect

	// Services is the discovery document. If nil, it has providers.v1, modules.v1 with modules, and login.v1 with
	// Login.
	Services map[string]any

	ModuleList ModuleList // of module versions
	Mirror     Mirror     // of providers
	Caching    Caching    // of answers
	Login      *Login     // identity server, if not nil; any Services must declare login.v1

	host svchost.Hostname
	key  func() *Key

	mu        sync.Mutex
	providers map[addrs.Provider][]*Release
	modules   map[addrs.Module][]*ModuleRelease
	hosts     map[string]svchost.Hostname // hosts with discovery, and their registries
	tokens    map[Kind]string
	faults    []*fault
	requests  []*Request
	grants    map[string]grant // codes that were not exchanged yet
}

// New returns an empty registry.
func New(host string) *Registry {
	name, err := svchost.Parse(host)
	if err != nil {
		panic(fmt.Sprintf("regtest: New: %v", err))
	}
	return &Registry{
		host:      name,
		key:       sync.OnceValue(func() *Key { return NewKey(KeyOptions{}) }),
		providers: map[addrs.Provider][]*Release{},
		modules:   map[addrs.Module][]*ModuleRelease{},
		hosts:     map[string]svchost.Hostname{name.String(): name},
		tokens:    map[Kind]string{},
		grants:    map[string]grant{},
	}
}

// Key returns the default key.
func (r *Registry) Key() *Key { return r.key() }

// Client returns a client that uses [Registry.RoundTrip].
func (r *Registry) Client() *http.Client { return &http.Client{Transport: r} }

// AddProvider adds a version. If it is there, it is listed twice, and the first with the platform is served.
func (r *Registry) AddProvider(p Provider) *Release {
	rel := newRelease(r, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.providers[rel.provider]
	rel.dir = freeDir(rel.p.Version, func(dir string) bool {
		return slices.ContainsFunc(same, func(other *Release) bool { return other.dir == dir })
	})
	r.providers[rel.provider] = append(same, rel)
	r.hosts[rel.provider.Host().String()] = rel.provider.Host()
	return rel
}

// freeDir returns an unused directory name for a version.
func freeDir(version string, taken func(dir string) bool) string {
	dir := fileName(version)
	for i := 2; taken(dir); i++ {
		dir = fmt.Sprintf("%s~%d", fileName(version), i)
	}
	return dir
}

// Require requires "Authorization: Bearer TOKEN" for the kinds, or for zero all except LoginAuthz and LoginToken.
// Without a token the status is 401, with another 403. A call replaces the token of its kinds; an empty one
// removes it. Redirected requests need none.
func (r *Registry) Require(token string, on Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if on == 0 {
		on = ^(LoginAuthz | LoginToken)
	}
	for kind := Discovery; kind <= Other; kind <<= 1 {
		if on.has(kind) {
			r.tokens[kind] = token
		}
	}
}

// releases returns the releases of a provider, in the order of adding.
func (r *Registry) releases(p addrs.Provider) []*Release {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.providers[p]
	return list[:len(list):len(list)]
}

// moduleReleases returns the releases of a module, in the order of adding, or nil for an
// unknown module.
func (r *Registry) moduleReleases(m addrs.Module) []*ModuleRelease {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.modules[m]
	return list[:len(list):len(list)]
}

// registryAt returns the registry of a host. Unknown hosts belong to r.host, without being a
// registry.
func (r *Registry) registryAt(host string) (name svchost.Hostname, isOne bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name, ok := r.hosts[host]; ok {
		return name, true
	}
	return r.host, false
}
