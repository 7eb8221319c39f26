// Lock writes a dependency lock file for several platforms, so that a team and its CI can share
// it.
//
//	go run ./examples/lock
//	go run ./examples/lock -platform linux_amd64 -platform darwin_arm64 hashicorp/random 'hashicorp/aws@~> 6.0'
//	go run ./examples/lock -lockfile infra/.terraform.lock.hcl
//
// Without arguments, it asks a registry in the program. With providers, it asks their
// registries, with the tokens of TF_TOKEN_* variables, and adds them to the lock file in this
// directory. A locked version stays unless -upgrade is set. If no constraint is given, the locked
// constraint stays. With a lock file only, it completes all entries. Comments in the file stay.
//
// Archives are downloaded and verified, but not unpacked. With -store, their hashes are stored
// for the next run. With -stated, it records the hashes that the registry of OpenTofu states for new
// versions, and does not download these archives.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/examples/internal/program"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

func main() { program.Main("lock", run) }

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	o, err := parseArgs(args, terminal)
	if err != nil {
		return program.Wrong(usage, err)
	}
	web := &transport.Client{Credentials: auth.Environ(os.Environ())}
	if o.embedded {
		web = &transport.Client{HTTP: embeddedRegistry(o).Client()}
	}
	registry := &regclient.Client{Transport: web}
	return update(ctx, o, registry, out, terminal)
}

// update locks packages of source.
func update(ctx context.Context, o options, source provider.Source, out, terminal io.Writer) error {
	lock, err := lockfile.LoadLenient(o.file)
	if err != nil {
		return err
	}
	if len(o.providers) == 0 {
		o.providers = slices.Collect(lock.All())
	}
	if len(o.providers) == 0 {
		return fmt.Errorf("%s locks nothing; name the providers to lock", o.file)
	}
	requirements := map[addrs.Provider]addrs.ProviderConstraint{}
	for _, want := range o.providers {
		if have, ok := lock.Get(want.Provider); ok && want.Constraints.IsZero() {
			want.Constraints = have.Constraints
		}
		requirements[want.Provider] = want.Constraints
	}
	display := newDisplay(terminal, len(requirements)*len(o.platforms))
	o.lock.Progress = display.show
	result, err := install.Lock(ctx, source, lock, requirements, o.platforms, o.lock)
	display.line.Clear()
	show(out, result)
	switch {
	case err != nil:
		return err // do not write an incomplete lock file
	case o.embedded:
		_, err = fmt.Fprintf(out, "\n%s", result.Lock.Bytes())
		return err
	}
	return result.Lock.Save(o.file)
}

// show prints a line for each package.
func show(out io.Writer, result *install.Result) {
	for _, s := range result.Selections {
		for platform, report := range inOrder(s.Reports) {
			how := "computed"
			if len(report.Local) == 0 {
				how = "stated"
			}
			fmt.Fprintf(out, "locked   %s %s %s, %s, %s\n", s.Provider, s.Version, platform, report.Trust, how)
		}
	}
}
