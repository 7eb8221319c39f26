package cliconfig

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
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
	c.sourceOnce.Do(func() {
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
		c.source = multi
	})
	return c.source
}

// passed logs that a method does not have a provider.
func (c *Config) passed(method string, err error) {
	if c.Logger != nil {
		c.Logger.Debug("provider method passed over", "method", method, "reason", err)
	}
}

// method returns the source of one method.
func (c *Config) method(m *Method) provider.Source {
	retries, timeout := c.settings().protocols.limits()
	transfers := 0 // as in the CLI, retries is not about archives
	if n := c.settings().protocols.downloadRetries; n != nil {
		transfers = orNone(*n)
	}
	if m.DownloadRetries != nil {
		transfers = orNone(*m.DownloadRetries)
	}
	switch m.Kind {
	case FilesystemMirror:
		return &late{open: func() (provider.Source, error) { return openDir(m.Location, m.Implicit) }}
	case NetworkMirror:
		client := func(retries int) provider.Source {
			return &mirrorclient.Client{
				BaseURL: m.Location, TrustAllHashes: m.TrustAllHashes, HTTP: c.HTTP, UserAgent: c.userAgent(), Timeout: timeout, Retries: retries,
				Credentials: c.Credentials(), VetoHost: c.VetoHost, Logger: c.Logger,
			}
		}
		return split(client, -1, transfers) // documents once only, as in the CLI
	case OCIMirror:
		return &late{open: sync.OnceValues(func() (provider.Source, error) { return c.oci(m) })}
	}
	if transfers == retries {
		return &signed{c.Registry(), c.settings()}
	}
	return &signed{split(func(retries int) provider.Source { return c.registryClient(retries) }, retries, transfers), c.settings()}
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

// split returns a source that repeats transfers of archives as often as transfers says,
// and all other requests as often as retries does.
func split(client func(retries int) provider.Source, retries, transfers int) provider.Source {
	if retries == transfers {
		return client(retries)
	}
	return &twofold{client(retries), client(transfers)}
}

type twofold struct {
	provider.Source
	archives provider.Source
}

func (t *twofold) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return t.archives.Open(ctx, pkg)
}
