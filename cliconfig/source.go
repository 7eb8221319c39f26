package cliconfig

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
)

// ErrNoFetcher: a provider is to come from an OCI mirror, and the program has set no
// [Config.OCI].
var ErrNoFetcher = errors.New("this program cannot install from OCI mirrors")

// ProviderSource returns a source of providers that asks the methods of the
// configuration as the CLI does; see [provider.Multi] for the rules. The names of the
// methods, in [provider.Package.Via], are those of [Method.String]. Nothing is asked and
// no directory is read before the first call. Each call returns the same source.
//
// Without a configuration, packages come from the registries, but for providers that
// one of the implicit directories has.
func (c *Config) ProviderSource() provider.Source {
	return c.source.get(func() provider.Source {
		multi := &provider.Multi{Passed: c.passed}
		var local []provider.Source
		names := map[string]int{}
		for _, m := range c.Methods() {
			src := c.method(&m)
			if m.Implicit && m.Kind == FilesystemMirror {
				local = append(local, src)
			}
			if m.Implicit && m.Kind == Direct {
				src = &unlessLocal{src, local}
			}
			name := m.String()
			if names[name]++; names[name] > 1 {
				name = fmt.Sprintf("%s #%d", name, names[name])
			}
			multi.Methods = append(multi.Methods, provider.Method{Name: name, Source: src, Include: m.Include, Exclude: m.Exclude})
		}
		return multi
	})
}

// passed logs that a method does not have a provider.
func (c *Config) passed(method string, err error) {
	if c.Logger != nil {
		c.Logger.Debug("provider method passed over", "method", method, "reason", err)
	}
}

// method returns the source of one method.
func (c *Config) method(m *Method) provider.Source {
	registry := c.Registry()
	web := *registry.Transport
	if m.DownloadRetries != nil {
		web.ArchiveRetries = orDisabled(*m.DownloadRetries)
	}
	switch m.Kind {
	case FilesystemMirror:
		return &late{open: func() (provider.Source, error) { return openDir(m.Location, m.Implicit) }}
	case NetworkMirror:
		web.Retries = -1 // as in the CLI
		return &mirrorclient.Client{BaseURL: m.Location, TrustAllHashes: m.TrustAllHashes, Transport: &web}
	case OCIMirror:
		return &late{open: sync.OnceValues(func() (provider.Source, error) { return c.oci(m) })}
	}
	if m.DownloadRetries != nil {
		registry = &regclient.Client{Transport: &web, Hosts: registry.Hosts}
	}
	return &signed{registry, c.settings()}
}

func (c *Config) oci(m *Method) (provider.Source, error) {
	if c.OCI == nil {
		return nil, ErrNoFetcher
	}
	src, err := c.OCI(m)
	if err == nil && src == nil {
		err = errors.New("the program made no source for it")
	}
	return src, err
}
