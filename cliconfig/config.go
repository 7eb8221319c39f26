package cliconfig

import (
	"cmp"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

// A Config is the configuration of a user. The zero Config has no files and variables.
//
// Set the fields before the first call, and do not copy a Config after it. Methods are safe for concurrent use. Except
// [Config.Installer], they return the same clients at each call.
type Config struct {
	HTTP *http.Client // see [transport.Settings]

	UserAgent string // see [transport.Settings]; TF_APPEND_USER_AGENT is added

	VetoHost func(host string) error // see [transport.Settings]

	// Tokens, if not nil, is called once with the user's tokens. It returns the tokens of all clients, such as
	// auth.Chain(user, ours), or nil.
	Tokens func(user auth.Source) auth.Source

	// Stamps sets Stamps of [install.Dir] to $XDG_CACHE_HOME/tofureg/stamps or ~/.cache/tofureg/stamps, on Linux only.
	Stamps bool

	// Cooldown, if not nil, holds back versions of ProviderSource. Its Source is ignored.
	Cooldown *cooldown.Providers

	Logger *slog.Logger // see [transport.Settings]

	// OCI returns the source of an oci_mirror. It is called at the first use of each, perhaps concurrently. If OCI is nil
	// or fails, requests to the mirror fail, and no later method is tried. Their errors wrap the error of OCI, unless it
	// is a [github.com/tofureg/tofureg/failure.ErrNotFound].
	OCI func(m *Method) (provider.Source, error)

	set      *settings
	warnings []*Problem

	user      once[*tokens]
	tokens    once[auth.Source]
	discovery once[*disco.Client]
	registry  once[*regclient.Client]
	source    once[provider.Source]
	cache     once[*install.Dir]
}

// once creates a value when it is first needed.
type once[T any] struct {
	sync.Once
	value T
}

func (o *once[T]) get(create func() T) T {
	o.Do(func() { o.value = create() })
	return o.value
}

func (c *Config) settings() *settings {
	if c.set != nil {
		return c.set
	}
	s := newSettings(System{}.complete())
	s.methods = []Method{{Kind: direct, Implicit: true}}
	return s
}

// Environ returns [System.Environ].
func (c *Config) Environ() []string { return slices.Clone(c.settings().system().Environ) }

// Files returns the files that were read, in order.
func (c *Config) Files() []string { return slices.Clone(c.settings().files) }

// Warnings returns the warnings of [Load], at most 100.
func (c *Config) Warnings() []*Problem { return slices.Clone(c.warnings) }

// Methods returns the installation methods in the configured order.
func (c *Config) Methods() []Method {
	methods := slices.Clone(c.settings().methods)
	for i := range methods {
		m := &methods[i]
		m.Include, m.Exclude = slices.Clone(m.Include), slices.Clone(m.Exclude)
	}
	return methods
}

// Discovery returns the client that finds services, with host blocks as overrides. Use its Transport and Hosts for other
// clients, such as [github.com/tofureg/tofureg/disco/login.Client]. Transport follows registry_protocols,
// TF_REGISTRY_DISCOVERY_RETRY, TF_REGISTRY_CLIENT_TIMEOUT and TF_PROVIDER_DOWNLOAD_RETRY.
func (c *Config) Discovery() *disco.Client {
	return c.discovery.get(func() *disco.Client {
		hosts := &disco.Hosts{Overrides: map[svchost.Hostname]*disco.Services{}}
		for name, h := range c.settings().hosts {
			hosts.Overrides[name] = h.services
		}
		requests, agent := c.settings().requests, c.UserAgent
		if more := c.settings().userAgent; more != "" {
			agent = cmp.Or(agent, httpx.UserAgent()) + " " + more
		}
		return &disco.Client{Hosts: hosts, Transport: &transport.Settings{
			HTTP: c.HTTP, UserAgent: agent, Timeout: requests.timeout, Retries: requests.retries, ArchiveRetries: requests.archiveRetries,
			Credentials: c.Credentials(), VetoHost: c.VetoHost, Logger: c.Logger,
		}}
	})
}

// Registry returns a client of provider and module registries, with the settings of [Config.Discovery]. It ignores
// mirrors and ~/.netrc.
func (c *Config) Registry() *regclient.Client {
	return c.registry.get(func() *regclient.Client {
		d := c.Discovery()
		return &regclient.Client{Transport: d.Transport, Hosts: d.Hosts}
	})
}

// Credentials returns the tokens of all clients, see Config.Tokens.
//
// The user's token comes from a TF_TOKEN_ variable, the last credentials block of the host, or the credentials helper,
// in this order. A block without a token ends the search; an invalid token is an error. Answers of the helper are cached
// for an hour, see [auth.Invalidator].
func (c *Config) Credentials() auth.Source {
	return c.tokens.get(func() auth.Source {
		if c.Tokens != nil {
			return c.Tokens(c.userTokens())
		}
		return c.userTokens()
	})
}

// Installer returns a new [install.Installer] for the plugin directory dir, with [Config.ProviderSource] and
// [Config.Policy]. It does what "tofu init" does for providers.
//
// All Installers share one Cache: TF_PLUGIN_CACHE_DIR, or plugin_cache_dir of the first file that has it, with variables
// expanded. [Load] fails if it does not exist. DevOverrides are from dev_overrides, with absolute paths, Reattached from
// TF_REATTACH_PROVIDERS, sorted. TrustCache is set if plugin_cache_may_break_dependency_lock_file is true in any file,
// or TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE is neither empty nor "0".
func (c *Config) Installer(dir string) *install.Installer {
	in := &install.Installer{
		Source:       c.ProviderSource(),
		Dir:          &install.Dir{Path: dir, Stamps: c.stampDir()},
		TrustCache:   c.settings().mayBreakLock,
		Policy:       c.Policy,
		DevOverrides: maps.Clone(c.settings().devOverrides),
		Reattached:   slices.Clone(c.settings().reattached),
	}
	if cache := c.settings().cacheDir; cache != "" {
		in.Cache = c.cache.get(func() *install.Dir { return &install.Dir{Path: cache, Stamps: c.stampDir()} })
	}
	return in
}

// stampDir returns the directory for stamps, or "" if stamps are off.
func (c *Config) stampDir() string {
	if !c.Stamps {
		return ""
	}
	return c.settings().system().stampDir()
}

// DefaultHost returns [addrs.DefaultHost], or registry.terraform.io if [System.Terraform] is set.
func (c *Config) DefaultHost() svchost.Hostname {
	return c.settings().system().defaultHost()
}
