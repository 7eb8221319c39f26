package cliconfig

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
)

// ErrNoOCI means that a provider needs an OCI mirror, and [Config.OCI] is nil.
var ErrNoOCI = errors.New("this program does not support OCI mirrors")

// ProviderSource returns a source with the configured installation methods, see
// [provider.Multi]. [provider.Package.Via] is [Method.String] of the method.
//
// Without a block provider_installation, packages come from the registries, except for
// providers in an implicit directory: terraform.d/plugins in the working directory, plugins
// in ~/.terraform.d and $XDG_DATA_HOME/opentofu, and application data directories of the
// operating system.
func (c *Config) ProviderSource() provider.Source {
	return c.source.get(func() provider.Source {
		multi := &provider.Multi{Skipped: c.logSkipped}
		var local []provider.Source
		names := map[string]int{}
		for _, m := range c.Methods() {
			src := c.method(&m)
			if m.Implicit && m.Kind == FilesystemMirror {
				local = append(local, src)
			}
			if m.Implicit && m.Kind == Direct {
				src = &exceptLocal{src, local}
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

// logSkipped logs that a method does not have a provider.
func (c *Config) logSkipped(method string, err error) {
	if c.Logger != nil {
		c.Logger.Debug("skipped provider method", "method", method, "reason", err)
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
		return &lazySource{open: func() (provider.Source, error) { return openDir(m.Location, m.Implicit) }}
	case NetworkMirror:
		web.Retries = -1 // as in the CLI
		return &mirrorclient.Client{BaseURL: m.Location, TrustAllHashes: m.TrustAllHashes, Transport: &web}
	case OCIMirror:
		return &lazySource{open: sync.OnceValues(func() (provider.Source, error) { return c.oci(m) })}
	}
	if m.DownloadRetries != nil {
		registry = &regclient.Client{Transport: &web, Hosts: registry.Hosts}
	}
	return &signed{registry, c.settings()}
}

func (c *Config) oci(m *Method) (provider.Source, error) {
	if c.OCI == nil {
		return nil, ErrNoOCI
	}
	src, err := c.OCI(m)
	if err == nil && src == nil {
		err = errors.New("the function Config.OCI returned no source")
	}
	return src, err
}
