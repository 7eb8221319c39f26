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

// A Registry is a registry in memory. It is made by [New].
//
// All methods can be called at any time by several goroutines. The fields are
// settings, to be made before the first request.
type Registry struct {
	// Latency is how long every answer takes to come, redirects included. In
	// a testing/synctest bubble, the time that a program has needed divided by
	// Latency is the number of requests that it has made one after the other.
	Latency time.Duration

	// Services is the discovery document. Nil means
	//
	//	{"providers.v1": "/v1/providers/"}
	//
	// and, from the first call of AddModule or AddEmptyModule on,
	//
	//	{"modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/"}
	//
	// An empty map is a host without services. Values are whatever JSON can
	// express. If one of these two is a URL, absolute or relative, the registry
	// answers at its path, and else at the path above.
	Services map[string]any

	// ModuleList is how the lists of the versions of modules look.
	ModuleList ModuleList

	// Mirror is how the registry serves the providers as a network mirror.
	Mirror Mirror

	// Caching is what answers say to caches.
	Caching Caching

	// Login is the identity server by which programs get a token for the
	// registry. Nil means that there is none. The discovery document names it,
	// unless Services is set: then that has to name it.
	Login *Login

	host svchost.Hostname
	key  func() *Key

	mu        sync.Mutex
	providers map[addrs.Provider][]*Release
	modules   map[addrs.Module][]*ModuleRelease
	hosts     map[string]svchost.Hostname // those with a discovery document, and whose it is
	tokens    map[Kind]string
	faults    []*fault
	requests  []*Request
	grants    map[string]grant // codes that wait to be exchanged
}

// New returns an empty registry that is known to its users as host, a name such
// as "registry.example.com" or, with a port, "localhost:8443". It panics if
// that is not the host of a provider address.
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

// Host returns the name of the registry in its ASCII form, with the port unless
// that is 443.
func (r *Registry) Host() string { return r.host.String() }

// Key returns the key that signs whatever no other key is named for. It is made
// when it is first needed.
func (r *Registry) Key() *Key { return r.key() }

// Client returns a client whose requests, to whatever host, are answered by the
// registry in this process. See [Registry.RoundTrip].
func (r *Registry) Client() *http.Client { return &http.Client{Transport: r} }

// AddProvider adds one version of a provider and returns it as it will be
// served. Nothing of it is built before it is asked for.
//
// A version added twice is listed twice; a package is then answered from the
// first that has the platform.
//
// AddProvider panics if p cannot be served: if the address is not one of a
// provider, a platform has no underscore, or a size is out of range.
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

// freeDir returns a name for what is served of a version, other than those that
// are taken.
func freeDir(version string, taken func(dir string) bool) string {
	dir := fileName(version)
	for i := 2; taken(dir); i++ {
		dir = fmt.Sprintf("%s~%d", fileName(version), i)
	}
	return dir
}

// Require demands a token, as "Authorization: Bearer TOKEN", for requests of
// the given kinds; zero means all but LoginEndpoints, where nobody has one yet.
// Without one they are answered 401, with another 403. The empty token takes the
// demand back.
//
// Demands are made of the request that a client sends first. Where a [Fault]
// redirects it, the request that follows needs no token.
func (r *Registry) Require(token string, on Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if on == 0 {
		on = ^LoginEndpoints
	}
	for kind := Discovery; kind <= Other; kind <<= 1 {
		if on.has(kind) {
			r.tokens[kind] = token
		}
	}
}

// releases returns what is offered of a provider, in the order of adding.
func (r *Registry) releases(p addrs.Provider) []*Release {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.providers[p]
	return list[:len(list):len(list)]
}

// moduleReleases returns what is offered of a module, in the order of adding. It
// is nil if the module is unknown.
func (r *Registry) moduleReleases(m addrs.Module) []*ModuleRelease {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.modules[m]
	return list[:len(list):len(list)]
}

// registryAt returns the registry that a host belongs to. Hosts that nobody
// has named belong to the one that the Registry was made for, without being one.
func (r *Registry) registryAt(host string) (name svchost.Hostname, isOne bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name, ok := r.hosts[host]; ok {
		return name, true
	}
	return r.host, false
}
