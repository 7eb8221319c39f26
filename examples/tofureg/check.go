package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
)

// check says for which platforms a lock file suffices, without fetching archives, or checks the files of a mirror or registry.
func check(ctx context.Context, c *call) error {
	flags := c.flags()
	file := flags.String("lockfile", lockfile.Name, "lock `file`")
	mirror := flags.String("mirror", "", "check the mirror in this `directory`")
	registry := flags.String("registry", "", "check the registry in this `directory`")
	host := hostFlag(flags)
	on := platforms(flags)
	if _, err := c.parse(flags, 0, 0); err != nil {
		return err
	}
	if *mirror != "" {
		m, err := mirrordir.Open(*mirror)
		if err != nil {
			return err
		}
		result, err := m.Check(ctx, mirrordir.CheckOptions{})
		if err != nil {
			return err
		}
		return problems(c, result, result.Problems, fmt.Sprintf("%d archives of %d providers", result.Archives, result.Providers))
	}
	if *registry != "" {
		r := &regdir.Registry{Store: &storage.Dir{Path: *registry}, Host: *host}
		result, err := r.Check(ctx, regdir.CheckOptions{Archives: true})
		if err != nil {
			return err
		}
		return problems(c, result, result.Problems, fmt.Sprintf("%d versions", result.Versions))
	}
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	locks, err := lockfile.LoadExisting(*file)
	if err != nil {
		return err
	}
	list, err := install.CheckPlatforms(ctx, config.ProviderSource(), locks, *on, config.Policy)
	var found []string
	for _, p := range list {
		for _, on := range slices.SortedFunc(maps.Keys(p.Platforms), addrs.Platform.Compare) {
			if status := p.Platforms[on]; status != install.LockedZH && status != install.LockedH1 {
				found = append(found, fmt.Sprintf("%s: %s %s %s", status, p.Provider, p.Version, on))
			}
		}
	}
	answer := problems(c, list, found, fmt.Sprintf("%d providers", locks.Len()))
	return cmp.Or(err, answer) // an error leaves the answer open
}

// problems prints a result, and returns errNo if something was found.
func problems[T any](c *call, result any, found []T, summary string) error {
	err := c.print(result, func() {
		c.printf("%s checked\n", summary)
		for _, f := range found {
			c.printf("%v\n", f)
		}
	})
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%d problems: %w", len(found), errNo)
	}
	return err
}
