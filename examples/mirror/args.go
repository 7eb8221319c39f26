package main

import (
	"flag"
	"io"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// options are the parsed arguments.
type options struct {
	dir       string
	providers []wanted
	platforms []addrs.Platform
	embedded  bool
}

// wanted is a provider and a version constraint.
type wanted struct {
	provider   addrs.Provider
	constraint addrs.ProviderConstraint
}

const usage = "usage: mirror [-dir DIR] [-platforms OS_ARCH,...] [PROVIDER[@CONSTRAINT]...]"

func parseArgs(args []string, terminal io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("mirror", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "`directory` of the mirror, created if missing (default: a temporary directory)")
	platforms := flags.String("platforms", "linux_amd64,darwin_arm64,windows_amd64", "platforms, `OS_ARCH,...`")
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return o, err
	}
	for text := range strings.SplitSeq(*platforms, ",") {
		platform, err := addrs.ParsePlatform(strings.TrimSpace(text))
		if err != nil {
			return o, err
		}
		o.platforms = append(o.platforms, platform)
	}
	names := flags.Args()
	if len(names) == 0 {
		o.embedded = true
		names = []string{"registry.example.com/acme/cloud@~> 1.0", "registry.example.com/acme/dns", "registry.example.com/acme/random"}
	}
	for _, text := range names {
		name, constraint, limited := strings.Cut(text, "@")
		var w wanted
		if w.provider, err = addrs.ParseProvider(name); err != nil {
			return o, err
		}
		if limited {
			if w.constraint, err = addrs.ParseProviderConstraint(constraint); err != nil {
				return o, err
			}
		}
		o.providers = append(o.providers, w)
	}
	return o, nil
}

// embeddedRegistry serves two versions of each provider from memory, signed with a new key.
func embeddedRegistry(o options) *regtest.Registry {
	registry := regtest.New(o.providers[0].provider.Host().String())
	var platforms []string
	for _, p := range o.platforms {
		platforms = append(platforms, p.String())
	}
	for _, w := range o.providers {
		for _, version := range []string{"1.0.0", "1.1.0"} {
			registry.AddProvider(regtest.Provider{Address: w.provider.String(), Version: version, Platforms: platforms})
		}
	}
	return registry
}
