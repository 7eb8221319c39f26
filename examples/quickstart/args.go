package main

import (
	"errors"
	"flag"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// options are the parsed arguments.
type options struct {
	provider   addrs.Provider
	constraint addrs.ProviderConstraint
	platform   addrs.Platform
	dir        string
	embedded   bool
}

const usage = "usage: quickstart [-dir DIR] [-platform OS_ARCH] [PROVIDER [CONSTRAINT]]"

func parseArgs(args []string, terminal io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "store the package in this `directory` (default: a new temporary directory)")
	flags.TextVar(&o.platform, "platform", addrs.CurrentPlatform(), "the platform, `OS_ARCH`")
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return o, err
	}
	name, constraint := "registry.example.com/acme/demo", "~> 1.0"
	switch flags.NArg() {
	case 0:
		o.embedded = true
	case 1:
		name, constraint = flags.Arg(0), ""
	case 2:
		name, constraint = flags.Arg(0), flags.Arg(1)
	default:
		return o, errors.New("want at most a provider and a constraint; quote a constraint that has spaces")
	}
	if o.provider, err = addrs.ParseProvider(name); err != nil {
		return o, err
	}
	if constraint != "" {
		o.constraint, err = addrs.ParseProviderConstraint(constraint)
	}
	return o, err
}

// embeddedRegistry serves a few versions of p from memory, signed by a new key.
func embeddedRegistry(p addrs.Provider) *regtest.Registry {
	registry := regtest.New(p.Host().String())
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "2.0.0-beta1", "2.0.0"} {
		registry.AddProvider(regtest.Provider{
			Address:   p.String(),
			Version:   version,
			Platforms: []string{addrs.CurrentPlatform().String(), "linux_riscv64"},
			Files:     map[string]string{"LICENSE": "Apache-2.0\n"},
		})
	}
	return registry
}
