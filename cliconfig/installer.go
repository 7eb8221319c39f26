package cliconfig

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider/install"
)

// Installer returns a new Installer that fills the plugin directory dir, in a project
// .terraform/providers, as the configuration says: from [Config.ProviderSource], by
// [Config.Policy], by way of [Config.PluginCacheDir], without [Config.DevOverrides]. The
// caller may change it and save the lock file of its results:
//
//	installer := cfg.Installer(filepath.Join(project, ".terraform", "providers"))
//	result, err := installer.Ensure(ctx, requirements, lock)
//	err = errors.Join(err, result.Lock.Save(filepath.Join(project, lockfile.Name)))
func (c *Config) Installer(dir string) *install.Installer {
	in := &install.Installer{
		Source:       c.ProviderSource(),
		Dir:          &install.Dir{Path: dir},
		TrustCache:   c.PluginCacheMayBreakLock(),
		Policy:       c.Policy,
		DevOverrides: c.DevOverrides(),
	}
	if cache := c.PluginCacheDir(); cache != "" {
		in.Cache = &install.Dir{Path: cache}
	}
	return in
}

// DefaultHost returns the host of providers and modules that are named without one:
// [addrs.DefaultHost], or that of Terraform for [System.Terraform]. Pass it to
// [addrs.ParseProviderIn].
func (c *Config) DefaultHost() svchost.Hostname {
	return c.settings().system().defaultHost()
}

func (s System) defaultHost() svchost.Hostname {
	if s.Terraform {
		return svchost.MustParse("registry.terraform.io")
	}
	return addrs.DefaultHost()
}
