package main

import (
	"flag"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider/hashstore"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// options are the parsed arguments.
type options struct {
	file      string
	embedded  bool
	providers []lockfile.Entry // without hashes
	platforms []addrs.Platform
	lock      install.Installer
}

const usage = "usage: lock [-lockfile FILE] [-platform OS_ARCH]... [-store DIR] [-stated] [-upgrade] [PROVIDER[@CONSTRAINT]...]"

func parseArgs(args []string, terminal io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("lock", flag.ContinueOnError)
	flags.StringVar(&o.file, "lockfile", "", "the `file` to write (default: "+lockfile.Name+")")
	store := flags.String("store", "", "store hashes in this `directory` for the next run")
	flags.BoolVar(&o.lock.Upgrade, "upgrade", false, "select new versions")
	flags.BoolVar(&o.lock.Stated, "stated", false, "record the hashes that registry.opentofu.org states for new versions, and do not download these archives")
	flags.Func("platform", "lock for this platform, `OS_ARCH`; can be repeated (default: linux_amd64, darwin_arm64, windows_amd64)", func(s string) error {
		p, err := addrs.ParsePlatform(s)
		o.platforms = append(o.platforms, p)
		return err
	})
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return o, err
	}
	if *store != "" {
		o.lock.Store = &hashstore.Dir{Path: *store}
	}
	if len(o.platforms) == 0 {
		for _, name := range []string{"linux_amd64", "darwin_arm64", "windows_amd64"} {
			o.platforms = append(o.platforms, addrs.MustParsePlatform(name))
		}
	}
	names := flags.Args()
	if len(names) == 0 && o.file == "" {
		o.embedded = true
		names = []string{"acme/cloud@~> 1.0", "acme/dns"}
	}
	if o.file == "" && !o.embedded {
		o.file = lockfile.Name
	}
	for _, text := range names {
		name, constraint, limited := strings.Cut(text, "@")
		var want lockfile.Entry
		if want.Provider, err = addrs.ParseProvider(name); err != nil {
			return o, err
		}
		if limited {
			if want.Constraints, err = addrs.ParseProviderConstraint(constraint); err != nil {
				return o, err
			}
		}
		o.providers = append(o.providers, want)
	}
	return o, nil
}

// embeddedRegistry serves two versions of each provider from memory, signed by a new key. It
// states hashes, as the registry of OpenTofu does.
func embeddedRegistry(o options) *regtest.Registry {
	registry := regtest.New(o.providers[0].Provider.Host().String())
	for _, want := range o.providers {
		for _, version := range []string{"1.0.0", "1.1.0"} {
			registry.AddProvider(regtest.Provider{Address: want.Provider.String(), Version: version, PackageHashes: true})
		}
	}
	return registry
}

// inOrder yields the elements of m, sorted by platform.
func inOrder[V any](m map[addrs.Platform]V) iter.Seq2[addrs.Platform, V] {
	return func(yield func(addrs.Platform, V) bool) {
		for _, p := range slices.SortedFunc(maps.Keys(m), addrs.Platform.Compare) {
			if !yield(p, m[p]) {
				return
			}
		}
	}
}
