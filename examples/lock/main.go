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
	"path/filepath"
	"slices"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/examples/program"
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
	if o.embedded {
		return demonstrate(ctx, o, out, terminal)
	}
	web := &transport.Settings{Credentials: auth.Environ(os.Environ())}
	return update(ctx, o, &regclient.Client{Transport: web}, out, terminal)
}

// demonstrate locks packages of a registry in the program, and prints the lock file.
func demonstrate(ctx context.Context, o options, out, terminal io.Writer) error {
	dir, err := os.MkdirTemp("", "lock-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o.file = filepath.Join(dir, lockfile.Name)
	web := &transport.Settings{HTTP: embeddedRegistry(o).Client()}
	if err := update(ctx, o, &regclient.Client{Transport: web}, out, terminal); err != nil {
		return err
	}
	text, err := os.ReadFile(o.file)
	if err == nil {
		_, err = fmt.Fprintf(out, "\n%s", text)
	}
	return err
}

// update locks packages of source.
func update(ctx context.Context, o options, source provider.Source, out, terminal io.Writer) error {
	return lockfile.UpdateLenient(ctx, o.file, func(lock *lockfile.File) (*lockfile.File, error) {
		requirements := required(lock, o.providers)
		if len(requirements) == 0 {
			return nil, fmt.Errorf("%s locks nothing; name the providers to lock", o.file)
		}
		display := newDisplay(terminal, len(requirements)*len(o.platforms))
		o.lock.Source, o.lock.LockPlatforms, o.lock.Progress = source, o.platforms, display.show
		result, err := o.lock.Lock(ctx, requirements, lock)
		display.line.Clear()
		show(out, result)
		if err != nil {
			return nil, err // do not write an incomplete lock file
		}
		return result.Lock, nil
	})
}

// required returns the providers to lock, with their locked constraints if they have no others. If
// there are no providers, it returns all entries of lock.
func required(lock *lockfile.File, providers []lockfile.Entry) install.Requirements {
	if len(providers) == 0 {
		providers = slices.Collect(lock.All())
	}
	requirements := install.Requirements{}
	for _, want := range providers {
		if have, ok := lock.Get(want.Provider); ok && want.Constraints.IsZero() {
			want.Constraints = have.Constraints
		}
		requirements[want.Provider] = want.Constraints
	}
	return requirements
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
