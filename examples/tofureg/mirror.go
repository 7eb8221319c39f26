package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/serve/mirrordir"
)

// mirror copies providers into a directory, as "tofu providers mirror" does. Locked providers must have their locked hashes.
func mirror(ctx context.Context, c *call) error {
	flags := c.flags()
	to := flags.String("to", "", "`directory` of the mirror")
	path := flags.String("dir", ".", "`directory` of the configuration")
	on := platforms(flags)
	args, err := c.parse(flags, 0, -1)
	if err == nil && *to == "" {
		err = c.wrong(errors.New("-to is missing"))
	}
	if err != nil {
		return err
	}
	if len(*on) == 0 {
		*on = []addrs.Platform{addrs.CurrentPlatform()}
	}
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	want, err := c.required(ctx, config, *path, args)
	if err != nil {
		return err
	}
	old, err := lockfile.Load(filepath.Join(*path, lockfile.Name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(*to, 0o755); err != nil {
		return err
	}
	m, err := mirrordir.Open(*to)
	if err != nil {
		return err
	}
	locked, options := &lockfile.File{}, mirrordir.AddOptions{Policy: config.Policy, Progress: c.step}
	var wants []mirrordir.Want
	for p, constraint := range want {
		if e, ok := old.Get(p); ok && (len(args) == 0 || constraint.Allows(e.Version)) {
			err = locked.Set(e)
		} else {
			var pkg *provider.Package
			if pkg, err = provider.Find(ctx, config.ProviderSource(), p, constraint, provider.Need{Platforms: *on}); err == nil {
				wants = append(wants, mirrordir.Want{Provider: p, Version: pkg.Version, Platforms: *on})
			}
		}
		if err != nil {
			return err
		}
	}
	added, err := m.AddLocked(ctx, config.ProviderSource(), locked, *on, options)
	more, failed := m.Add(ctx, config.ProviderSource(), wants, options)
	added = append(added, more...)
	printed := c.print(added, func() {
		for _, a := range added {
			what := "kept"
			if a.Fetched {
				what = "added"
			}
			c.printf("%-9s %s %s %s\n", what, a.Provider, a.Version, a.Platform)
		}
	})
	return errors.Join(err, failed, printed)
}
