package cliconfig

import (
	"cmp"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

// A Config is the configuration of a user, as [Load] reads it, and makes clients that
// behave as it says. The zero Config is that of a user without any.
//
// The exported fields are for the program. Set them before the first call of Discovery,
// Registry or ProviderSource; after it a Config is safe for concurrent use. It must not
// be copied.
type Config struct {
	// HTTP makes the requests of all clients; nil means a transport that all clients
	// of the process share. See [transport.Client].
	HTTP *http.Client

	// UserAgent is sent with each request, with TF_APPEND_USER_AGENT behind it;
	// empty means one that names tofureg.
	UserAgent string

	// VetoHost is asked before each request, see [transport.Client]. Nil allows all
	// hosts.
	VetoHost func(host string) error

	// Tokens, if not nil, is called once with the tokens of the user and returns the source
	// that all clients ask, so that a program can put its own tokens before or behind:
	//
	//	config.Tokens = func(user auth.Source) auth.Source { return auth.Chain(user, ours) }
	//
	// If Tokens returns nil, the clients have no tokens. [Config.TokenOrigin] and
	// [Config.Store] know the tokens of the user only.
	Tokens func(user auth.Source) auth.Source

	// Logger is told of requests and repeats; nil means silence.
	Logger *slog.Logger

	// OCI makes the source of a method of the kind [OCIMirror], once for each, when
	// a provider that it selects is first asked for; others who ask wait, so it
	// should not ask anybody itself. [Method.Repository] tells where a provider is.
	// If OCI is nil or fails, asking for such a provider is an error
	// that ends the search: no other method stands in for the mirror.
	OCI func(m *Method) (provider.Source, error)

	set      *settings
	warnings []*Problem

	user      once[*tokens]
	tokens    once[auth.Source]
	discovery once[*disco.Client]
	registry  once[*regclient.Client]
	source    once[provider.Source]
}

// once makes a value when it is first needed.
type once[T any] struct {
	sync.Once
	value T
}

func (o *once[T]) get(create func() T) T {
	o.Do(func() { o.value = create() })
	return o.value
}

// noSettings are those of the zero Config.
var noSettings = sync.OnceValue(func() *settings {
	s := newSettings(System{}.complete())
	s.methods = []Method{{Kind: Direct, Implicit: true}}
	return s
})

func (c *Config) settings() *settings {
	if c.set == nil {
		return noSettings()
	}
	return c.set
}

// Files returns the files that were read, in their order.
func (c *Config) Files() []string { return slices.Clone(c.settings().files) }

// Warnings returns what is odd about the configuration, but no reason not to use it.
func (c *Config) Warnings() []*Problem { return slices.Clone(c.warnings) }

// PluginCacheDir returns the absolute path of the directory in which packages are kept
// for all projects of the user: the one in TF_PLUGIN_CACHE_DIR, or the first one in a
// file, where $NAME and ${NAME} have been replaced by variables. It exists, and is a
// directory; "" means that there is none.
func (c *Config) PluginCacheDir() string { return c.settings().cacheDir }

// PluginCacheMayBreakLock reports whether a package of [Config.PluginCacheDir] may be
// used although no lock file vouches for it: the setting
// plugin_cache_may_break_dependency_lock_file, or the variable of this name with TF_
// before it. What one of them switches on, nothing switches off.
func (c *Config) PluginCacheMayBreakLock() bool { return c.settings().mayBreakLock }

// DevOverrides returns the directories of providers that are under development, by
// absolute paths. They take the place of any version and are neither verified nor
// locked. The caller may change the map.
func (c *Config) DevOverrides() map[addrs.Provider]string {
	overrides := map[addrs.Provider]string{}
	maps.Copy(overrides, c.settings().devOverrides)
	return overrides
}

// Methods returns the methods by which providers are installed, in their order, as
// data. [Config.ProviderSource] makes a source of them. A configuration whose block
// provider_installation has no methods has none.
// The caller may change the result.
func (c *Config) Methods() []Method {
	methods := slices.Clone(c.settings().methods)
	for i := range methods {
		m := &methods[i]
		m.Include, m.Exclude = slices.Clone(m.Include), slices.Clone(m.Exclude)
		if n := m.DownloadRetries; n != nil {
			m.DownloadRetries = new(*n)
		}
	}
	return methods
}

// Discovery returns a client that finds the services of hosts, with the host blocks as
// overrides. Its Transport and Hosts are those of the other clients, and serve a
// login.Client as well. Each call returns the same one.
func (c *Config) Discovery() *disco.Client {
	return c.discovery.get(func() *disco.Client {
		hosts := &disco.Hosts{Overrides: map[hostname]*disco.Services{}}
		for name, h := range c.settings().hosts {
			hosts.Overrides[name] = h.services
		}
		requests := c.settings().requests
		return &disco.Client{Hosts: hosts, Transport: &transport.Client{
			HTTP: c.HTTP, UserAgent: c.userAgent(), Timeout: requests.timeout, Retries: requests.retries, ArchiveRetries: requests.archiveRetries,
			Credentials: c.Credentials(), VetoHost: c.VetoHost, Logger: c.Logger,
		}}
	})
}

// Registry returns a client of the registries of providers and modules, with the
// tokens, host blocks, retries and timeout of the configuration. It asks the registry
// of a provider's host, whatever the methods of installation are; see
// [Config.ProviderSource]. Each call returns the same one.
func (c *Config) Registry() *regclient.Client {
	return c.registry.get(func() *regclient.Client {
		d := c.Discovery()
		return &regclient.Client{Transport: d.Transport, Hosts: d.Hosts}
	})
}

// userAgent returns the header, "" for the default.
func (c *Config) userAgent() string {
	more := c.settings().userAgent
	if more == "" {
		return c.UserAgent
	}
	return cmp.Or(c.UserAgent, httpx.UserAgent()) + " " + more
}

// Credentials returns the source of tokens that all clients ask: what [Config.Tokens]
// makes of the user's tokens, or these if Tokens is nil. The user's tokens come from the
// environment, the credentials blocks of all files, and the credentials helper, in this
// order. The first one that has something about a host counts, even if that is a block
// without a token. Each call returns the same source.
//
// What a helper answers is kept for an hour; the user's source is an [auth.Invalidator].
// Files are not read again.
func (c *Config) Credentials() auth.Source {
	return c.tokens.get(func() auth.Source {
		if c.Tokens != nil {
			return c.Tokens(c.userTokens())
		}
		return c.userTokens()
	})
}
