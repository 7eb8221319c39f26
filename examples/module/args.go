package main

import (
	"errors"
	"flag"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// options are the parsed arguments.
type options struct {
	source     addrs.ModuleSource
	constraint addrs.ModuleConstraint
	dir        string
	git        *module.Git
	replace    bool
	embedded   bool
}

const usage = "usage: module [-dir DIR [-replace]] [-git] [MODULE[//SUBDIR] [CONSTRAINT]]"

func parseArgs(args []string, terminal io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("module", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "put the package into this `directory` (default: a temporary one)")
	flags.BoolVar(&o.replace, "replace", false, "replace an existing package in the directory")
	git := flags.Bool("git", false, "run the git program to fetch packages from repositories")
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return o, err
	}
	if *git {
		o.git = &module.Git{}
	}
	name, constraint := "registry.example.com/acme/network/aws//modules/subnet", "~> 1.0"
	switch flags.NArg() {
	case 0:
		o.embedded = true
	case 1:
		name, constraint = flags.Arg(0), ""
	case 2:
		name, constraint = flags.Arg(0), flags.Arg(1)
	default:
		return o, errors.New("too many arguments: want a module and a constraint; quote a constraint with spaces")
	}
	if o.source, err = addrs.ParseModuleSource(name); err != nil {
		return o, err
	}
	o.constraint, err = addrs.ParseModuleConstraint(constraint)
	return o, err
}

// embeddedRegistry returns a registry in memory with several versions of m.
func embeddedRegistry(m addrs.Module) *regtest.Registry {
	registry := regtest.New(m.Host().String())
	for _, version := range []string{"v1.0", "v1.1.0", "v1.2.0", "v2.0.0-beta1", "v2.0.0", "nightly"} {
		registry.AddModule(regtest.Module{
			Address: m.String(),
			Version: version,
			Files: map[string]string{
				"LICENSE":                     "Apache-2.0\n",
				"main.tf":                     "module \"subnet\" {\n  source = \"./modules/subnet\"\n}\n",
				"modules/subnet/main.tf":      "# one subnet\n",
				"modules/subnet/variables.tf": "variable \"cidr\" {}\n",
			},
		})
	}
	return registry
}
