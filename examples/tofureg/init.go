package main

import (
	"context"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/workdir"
)

// prepare installs the modules and providers of a configuration, and locks the providers.
func prepare(ctx context.Context, c *call) error {
	flags := c.flags()
	path := flags.String("dir", ".", "`directory` of the configuration")
	var version addrs.Version
	flags.TextVar(&version, "version", version, "`version` of the CLI for required_version")
	upgrade := flags.Bool("upgrade", false, "select new versions")
	lockModules := flags.Bool("lock-modules", false, "lock modules too, in .tofureg.modules.lock")
	cache := &module.Cache{}
	flags.StringVar(&cache.Path, "module-cache", "", "`directory` that keeps modules for all directories")
	readOnly := flags.Bool("readonly", false, "write no lock file, and fail if one would change")
	plan := flags.Bool("plan", false, "print what would be done, write nothing, and end with code 3 if there is something")
	if _, err := c.parse(flags, 0, 0); err != nil {
		return err
	}
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	d := c.workdir(config, *path)
	d.Version, d.Upgrade, d.LockModules, d.ReadOnly = version, *upgrade, *lockModules, *readOnly
	d.Modules.Cache = cache
	do := d.Prepare
	if *plan {
		do = d.Plan
	}
	result, err := do(ctx)
	for _, warning := range result.Warnings {
		c.warn(warning)
	}
	if printed := c.print(result, func() { c.show(result) }); err == nil {
		err = printed
	}
	if err == nil && *plan && left(result) {
		err = fmt.Errorf("%s is not prepared: %w", *path, errNo)
	}
	return err
}

// workdir returns a directory that follows the configuration of the user.
func (c *call) workdir(config *cliconfig.Config, path string) *workdir.Dir {
	d := workdir.New(config, path)
	d.Modules.Progress, d.Installer.Progress = c.step, c.step
	return d
}

// left reports whether a plan has something to do.
func left(r *workdir.Result) bool {
	for _, m := range r.Modules {
		if m.Missing {
			return true
		}
	}
	for _, s := range r.Providers.Selections {
		if s.From == install.FromSource {
			return true
		}
	}
	return r.Locked
}

// show prints the modules that are new, and all providers.
func (c *call) show(r *workdir.Result) {
	for _, m := range r.Modules {
		if m.Report != nil || m.Missing {
			c.printf("module    %s %s\n", m.Key, m.Version)
		}
	}
	if r.Providers == nil {
		return
	}
	for _, s := range r.Providers.Selections {
		if s.Err == nil && s.From != install.FromBuiltIn {
			c.printf("provider  %s %s\n", s.Provider, s.Version)
		}
	}
}
