package main

import (
	"flag"
	"io"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// options are the parsed arguments.
type options struct {
	dir, cache   string
	requirements install.Requirements
	platforms    []addrs.Platform
	upgrade      bool
	embedded     bool
}

const usage = "usage: installer [-dir DIR] [-cache DIR] [-platform OS_ARCH]... [-upgrade] [PROVIDER[@CONSTRAINT]...]"

func parseArgs(args []string, terminal io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("installer", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "the `directory` of the project (default: a new temporary one)")
	flags.StringVar(&o.cache, "cache", "", "a `directory` of packages shared with other projects, for example $TF_PLUGIN_CACHE_DIR")
	flags.Func("platform", "a further platform to lock the providers for, `OS_ARCH`; may be repeated", func(text string) error {
		platform, err := addrs.ParsePlatform(text)
		o.platforms = append(o.platforms, platform)
		return err
	})
	flags.BoolVar(&o.upgrade, "upgrade", false, "select versions anew instead of keeping the locked ones")
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return o, err
	}
	names := flags.Args()
	if len(names) == 0 {
		o.embedded = true
		names = []string{"registry.example.com/acme/cloud@~> 1.0", "registry.example.com/acme/dns", "registry.example.com/acme/random"}
	}
	o.requirements, err = parseRequirements(names)
	return o, err
}

// parseRequirements parses PROVIDER[@CONSTRAINT]. If a provider is named twice, both constraints
// apply.
func parseRequirements(texts []string) (install.Requirements, error) {
	requirements := install.Requirements{}
	for _, text := range texts {
		name, constraint, _ := strings.Cut(text, "@")
		p, err := addrs.ParseProvider(name)
		if err != nil {
			return nil, err
		}
		c, err := addrs.ParseProviderConstraint(constraint)
		if err != nil {
			return nil, err
		}
		requirements[p] = requirements[p].And(c)
	}
	return requirements, nil
}

// embeddedRegistry serves two versions of each provider from memory, signed by a new key.
func embeddedRegistry(o options) *regtest.Registry {
	registry := regtest.New("registry.example.com")
	platforms := []string{addrs.CurrentPlatform().String()}
	for _, p := range o.platforms {
		platforms = append(platforms, p.String())
	}
	for p := range o.requirements {
		for _, version := range []string{"1.0.0", "1.1.0"} {
			registry.AddProvider(regtest.Provider{Address: p.String(), Version: version, Platforms: platforms, Size: 1 << 20})
		}
	}
	return registry
}
