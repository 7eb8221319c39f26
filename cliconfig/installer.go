package cliconfig

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider/install"
)

// Installer returns a new [install.Installer] for the plugin directory dir, with
// [Config.ProviderSource], [Config.Policy], [Config.PluginCacheDir] and
// [Config.DevOverrides].
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

// DefaultHost returns the host for [addrs.ParseProviderIn]: [addrs.DefaultHost], or
// registry.terraform.io if [System.Terraform] is set.
func (c *Config) DefaultHost() svchost.Hostname {
	return c.settings().system().defaultHost()
}

func (s System) defaultHost() svchost.Hostname {
	if s.Terraform {
		return svchost.MustParse("registry.terraform.io")
	}
	return addrs.DefaultHost()
}
