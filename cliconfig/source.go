package cliconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io/fs"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/verify"
)

// ProviderSource returns a [provider.Multi] of the installation methods, or Cooldown around it. [provider.Package.Via]
// starts with [Method.String], followed by " #2" for a second equal method.
//
// Without a block provider_installation, a provider in an implicit directory, such as ./terraform.d/plugins, comes only
// from such directories, and others from the registries.
func (c *Config) ProviderSource() provider.Source {
	return c.source.get(func() provider.Source {
		multi := &provider.Multi{}
		if c.Logger != nil {
			multi.Skipped = func(method string, err error) {
				c.Logger.Debug("skipped provider method", "method", method, "reason", err)
			}
		}
		var local []provider.Source
		names := map[string]int{}
		for _, m := range c.Methods() {
			src := c.method(&m)
			if m.Implicit && m.Kind == filesystemMirror {
				local = append(local, src)
			}
			if m.Implicit && m.Kind == direct {
				src = &exceptLocal{src, local}
			}
			name := m.String()
			if names[name]++; names[name] > 1 {
				name = fmt.Sprintf("%s #%d", name, names[name])
			}
			multi.Sources = append(multi.Sources, provider.NamedSource{Name: name, Source: src, Patterns: m.Patterns})
		}
		if c.Cooldown != nil {
			rule := *c.Cooldown
			rule.Source = multi
			return &rule
		}
		return multi
	})
}

// method returns the source of one method.
func (c *Config) method(m *Method) provider.Source {
	registry := c.Registry()
	web := *registry.Transport
	web.ArchiveRetries = cmp.Or(m.DownloadRetries, web.ArchiveRetries)
	switch m.Kind {
	case filesystemMirror:
		return lazySource(func() (provider.Source, error) {
			dir, err := mirrordir.Open(m.Location)
			switch {
			case err == nil:
				return dir, nil
			case m.Implicit && errors.Is(err, fs.ErrNotExist): // it is gone since Load
				return &provider.Multi{}, nil
			}
			return nil, err
		})
	case networkMirror:
		web.Retries = -1 // as in the CLI
		return &mirrorclient.Client{BaseURL: m.Location, TrustAllHashes: m.TrustAllHashes, Transport: &web}
	case ociMirror:
		return lazySource(sync.OnceValues(func() (provider.Source, error) {
			if c.OCI == nil {
				return nil, errors.New("this program does not support OCI mirrors")
			}
			src, err := c.OCI(m)
			if err == nil && src == nil {
				err = errors.New("the function Config.OCI returned no source")
			}
			return src, err
		}))
	}
	if m.DownloadRetries != 0 {
		registry = &regclient.Client{Transport: &web, Hosts: registry.Hosts}
	}
	return &signed{registry, c.settings()}
}

// A lazySource is opened by the first request. A configuration can name missing
// directories for providers that are not used.
type lazySource func() (provider.Source, error)

func (open lazySource) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	return ask(open, "list versions of", p.String(), func(src provider.Source) (*provider.Versions, error) {
		return src.ProviderVersions(ctx, p)
	})
}

func (open lazySource) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	return ask(open, "find", p.String(), func(src provider.Source) (*provider.Package, error) {
		return src.ProviderPackage(ctx, p, v, on)
	})
}

func (open lazySource) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return ask(open, "fetch the evidence about", pkg.String(), func(src provider.Source) (verify.Evidence, error) {
		return src.Evidence(ctx, pkg)
	})
}

func (open lazySource) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return ask(open, "open", pkg.String(), func(src provider.Source) (*provider.Body, error) {
		return src.Open(ctx, pkg)
	})
}

// ask opens the source and calls one of its methods. The cause of a source that cannot be opened becomes a text if it is
// ErrNotFound, because no other method must be tried.
func ask[T any](open lazySource, op, subject string, call func(provider.Source) (T, error)) (T, error) {
	src, err := open()
	if err != nil {
		if errors.Is(err, failure.ErrNotFound) {
			err = errors.New(err.Error())
		}
		var none T
		return none, &failure.Error{Op: op, Subject: subject, Err: err}
	}
	return call(src)
}

// exceptLocal is a source without the providers that one of the local sources has.
type exceptLocal struct {
	provider.Source
	local []provider.Source
}

func (e *exceptLocal) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if err := e.check(ctx, p); err != nil {
		return nil, err
	}
	return e.Source.ProviderVersions(ctx, p)
}

func (e *exceptLocal) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if err := e.check(ctx, p); err != nil {
		return nil, err
	}
	return e.Source.ProviderPackage(ctx, p, v, on)
}

// check returns ErrExcluded if a local source has a package of p. It ignores errors: an
// unreadable source is also a method of its own, which fails.
func (e *exceptLocal) check(ctx context.Context, p addrs.Provider) error {
	for _, src := range e.local {
		versions, err := src.ProviderVersions(ctx, p)
		if err == nil && len(versions.Versions) > 0 {
			return fmt.Errorf("a local directory has packages of this provider: %w", provider.ErrExcluded)
		}
	}
	return nil
}

// Policy returns [provider.CLIPolicy], changed as follows, for packages of [Config.ProviderSource], which itself demands
// a signature if the registry lists keys. For packages of [Config.Registry], use the zero [verify.Policy].
//
//   - If OPENTOFU_ENFORCE_GPG_VALIDATION is "true" or [System.Terraform] is set, packages from [addrs.DefaultHost] need
//     a signature. Otherwise a lock file records the h1 that this host states for other platforms, but none from other
//     hosts.
//   - If OPENTOFU_ENFORCE_GPG_EXPIRATION is "true" and [System.Terraform] is not set, expired keys and signatures are
//     refused, also keys that have expired since they signed.
//   - A mirror package needs neither signature nor hashes.
//
// Unlike the CLI, Policy refuses signatures from the future, packages whose zh or h1 differs from all stated ones,
// SHA256SUMS documents that [verify.ParseSums] refuses, and mirror packages with hashes only for other platforms.
func (c *Config) Policy(p addrs.Provider) verify.Policy {
	s := c.settings()
	policy := provider.CLIPolicy(p)
	if s.enforce.unexpired && !s.system().Terraform {
		policy.AllowExpired, policy.RequireCurrent = false, true
	}
	if s.mustSign(p) {
		policy.AllowUnsigned, policy.DropStated = false, true
	}
	// A policy does not know which method a package comes from, so it permits what one of
	// them does. The source signed demands signatures of the direct method.
	for _, m := range s.methods {
		if m.Kind != direct && m.Selects(p) {
			policy.AllowUnchecked = true
		}
	}
	return policy
}

// mustSign reports whether the registry must list keys for p.
func (s *settings) mustSign(p addrs.Provider) bool {
	return s.enforce.signed || s.system().Terraform || p.Host() != addrs.DefaultHost()
}

// signed is a registry whose packages must be signed if the CLI demands it.
type signed struct {
	provider.Source
	set *settings
}

func (s *signed) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, platform)
	if err != nil {
		return nil, err
	}
	marked := *pkg
	marked.MustBeSigned = s.set.mustSign(p) || len(pkg.Keys) > 0
	return &marked, nil
}
