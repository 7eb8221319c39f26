package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
)

// found is the answer of find about one address: a package of a provider, or the location of a module.
type found struct {
	Package *provider.Package `json:"package,omitempty"`
	Module  *module.Location  `json:"module,omitempty"`
}

// find prints the newest versions that constraints allow, and where their packages are.
func find(ctx context.Context, c *call) error {
	flags := c.flags()
	modules := flags.Bool("module", false, "the addresses name modules")
	on := platforms(flags)
	args, err := c.parse(flags, 1, -1)
	if err != nil {
		return err
	}
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	list, failed := []found{}, []error{}
	for _, arg := range args {
		var f found
		if *modules {
			f.Module, err = c.findModule(ctx, config, arg)
		} else {
			f.Package, err = c.findProvider(ctx, config, arg, *on)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		list = append(list, f)
	}
	printed := c.print(list, func() {
		for _, f := range list {
			if f.Package != nil {
				c.printf("%s %s\n  %s\n", f.Package.Provider, f.Package.Version, f.Package)
			} else {
				c.printf("%s %s\n  %s\n", f.Module.Module, f.Module.Version, f.Module)
			}
		}
	})
	return errors.Join(append(failed, printed)...)
}

func (c *call) findProvider(ctx context.Context, config *cliconfig.Config, arg string, on []addrs.Platform) (*provider.Package, error) {
	want, err := c.requirements([]string{arg}, config)
	if err != nil {
		return nil, err
	}
	for p, constraint := range want {
		return provider.Find(ctx, config.ProviderSource(), p, constraint, provider.Need{Platforms: on})
	}
	return nil, fmt.Errorf("no provider in %q", arg)
}

func (c *call) findModule(ctx context.Context, config *cliconfig.Config, arg string) (*module.Location, error) {
	name, text, _ := strings.Cut(arg, "@")
	m, err := addrs.ParseModuleIn(config.DefaultHost(), name)
	constraint, invalid := addrs.ParseModuleConstraint(text)
	if err = errors.Join(err, invalid); err != nil {
		return nil, c.wrong(err)
	}
	versions, err := config.ModuleSource().ModuleVersions(ctx, m)
	if err != nil {
		return nil, err
	}
	v, err := versions.Newest(constraint)
	if err != nil {
		return nil, err
	}
	return config.ModuleSource().ModuleLocation(ctx, m, v)
}
