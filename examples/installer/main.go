// Installer installs and locks the providers that a project requires, as "tofu init" does.
//
//	go run ./examples/installer
//	go run ./examples/installer -dir . hashicorp/random 'hashicorp/aws@~> 6.0'
//	go run ./examples/installer -dir . -platform linux_amd64 -platform darwin_arm64 hashicorp/random
//
// Without arguments it uses a registry that is embedded in the program. With providers it uses
// their real registries, with the tokens of TF_TOKEN_* variables. Providers that are installed and
// locked need no request. The CLI finds the packages where it would have installed them.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

func main() { program.Main("installer", run) }

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	o, err := parseArgs(args, terminal)
	if err != nil {
		return program.Wrong(usage, err)
	}
	web := &transport.Settings{Credentials: auth.Environ(os.Environ())}
	if o.embedded {
		web = &transport.Settings{HTTP: embeddedRegistry(o).Client()}
	}
	registry := &regclient.Client{Transport: web}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "installer-"); err != nil {
			return err
		}
	}
	return ensure(ctx, o, registry, out)
}

// ensure installs the required providers from source and locks them.
func ensure(ctx context.Context, o options, source provider.Source, out io.Writer) error {
	display := newDisplay(out, len(o.requirements))
	installer := &install.Installer{
		Source:        source,
		Dir:           &install.Dir{Path: filepath.Join(o.dir, ".terraform", "providers")},
		LockPlatforms: o.platforms,
		Upgrade:       o.upgrade,
		Progress:      display.show,
	}
	if o.cache != "" {
		installer.Cache = &install.Dir{Path: o.cache}
	}
	what, path := "unchanged", filepath.Join(o.dir, lockfile.Name)
	err := lockfile.Update(ctx, path, func(lock *lockfile.File) (*lockfile.File, error) {
		result, err := installer.Ensure(ctx, o.requirements, lock)
		display.line.Clear()
		for _, s := range result.Selections {
			printSelection(out, s)
		}
		if !bytes.Equal(result.Lock.Bytes(), lock.Bytes()) {
			what = "written"
		}
		return result.Lock, err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%-10s %s\n", what, path)
	return err
}

func printSelection(out io.Writer, s install.Selection) {
	for _, warning := range s.Warnings {
		fmt.Fprintf(out, "warning    %s: %s\n", s.Provider, warning)
	}
	switch {
	case s.Err != nil:
	case s.From == install.FromBuiltIn:
		fmt.Fprintf(out, "ready      %s, part of the CLI\n", s.Provider)
	default:
		fmt.Fprintf(out, "ready      %s %s, %s, from %s: %s\n", s.Provider, s.Version, s.Reports[s.Platform].Trust, s.From, s.Executable)
	}
}
