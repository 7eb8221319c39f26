package main

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/provider/hashstore"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
)

// lock locks providers for several platforms, as "tofu providers lock" does. It installs none.
func lock(ctx context.Context, c *call) error {
	flags := c.flags()
	path := flags.String("dir", ".", "`directory` of the configuration")
	file := flags.String("lockfile", "", "lock `file` (default: in the directory)")
	store := flags.String("store", "", "keep hashes in this `directory` for the next run")
	upgrade := flags.Bool("upgrade", false, "select new versions")
	on := platforms(flags)
	args, err := c.parse(flags, 0, -1)
	if err != nil {
		return err
	}
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	want, err := c.required(ctx, config, *path, args)
	if err != nil {
		return err
	}
	installer := config.Installer("")
	installer.LockPlatforms, installer.Upgrade, installer.Progress = *on, *upgrade, c.step
	if *store != "" {
		installer.Store = &hashstore.Dir{Path: *store}
	}
	var result *install.Result
	err = lockfile.UpdateLenient(ctx, cmp.Or(*file, filepath.Join(*path, lockfile.Name)), func(old *lockfile.File) (*lockfile.File, error) {
		want := maps.Clone(want)
		for p := range want { // without a constraint, the constraint of the lock file stays
			if e, ok := old.Get(p); ok && want[p].IsZero() {
				want[p] = e.Constraints
			}
		}
		if result, err = installer.Lock(ctx, want, old); err != nil {
			return nil, err // an incomplete lock file is not written
		}
		return result.Lock, nil
	})
	if err != nil {
		return err
	}
	return c.print(result, func() {
		for _, s := range result.Selections {
			c.printf("locked    %s %s for %d platforms\n", s.Provider, s.Version, len(s.Reports))
		}
	})
}

// required returns the providers in arguments, or without arguments the providers of the configuration in a directory, whose
// modules it installs.
func (c *call) required(ctx context.Context, config *cliconfig.Config, dir string, args []string) (install.Requirements, error) {
	if len(args) > 0 {
		return c.requirements(args, config)
	}
	result, err := c.workdir(config, dir).InstallModules(ctx)
	if err != nil {
		return nil, err
	}
	for _, warning := range result.Warnings {
		c.warn(warning)
	}
	return result.Required(), nil
}
