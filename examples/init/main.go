// Init prepares a directory with a configuration as "tofu init" does. It installs the modules and
// providers, writes the manifest of modules and the lock file. Then "tofu validate" and "terraform
// validate" work without another init.
//
//	go run . -dir path/to/configuration
//	go run . -dir path/to/configuration -terraform
//
// It uses the user's CLI configuration and git. Modules and providers that are installed and locked
// need no request.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/examples/internal/program"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
)

func main() { program.Main("init", run) }

const usage = "usage: init [-dir DIR] [-terraform]"

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	sys := cliconfig.Host()
	flags := flag.NewFlagSet("init", flag.ContinueOnError)
	dir := flags.String("dir", ".", "`directory` of the configuration")
	flags.BoolVar(&sys.Terraform, "terraform", false, "follow the rules of Terraform instead of OpenTofu")
	err := program.Parse(flags, args, usage, terminal)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		return program.Wrong(usage, err)
	}
	config, err := cliconfig.Load(sys)
	if err != nil {
		return err
	}
	return initialise(ctx, &initialiser{config: config, dir: *dir, terraform: sys.Terraform}, out)
}

// providersDir has the installed providers.
const providersDir = ".terraform/providers"

// An initialiser prepares one directory.
type initialiser struct {
	config    *cliconfig.Config
	dir       string
	terraform bool
}

func initialise(ctx context.Context, in *initialiser, out io.Writer) error {
	tree, err := in.modules(ctx)
	if err != nil {
		return err
	}
	for _, m := range tree.installed {
		fmt.Fprintf(out, "module    %s %s\n", m.Key, m.Version)
	}
	path := filepath.Join(in.dir, lockfile.Name)
	lock, err := lockfile.Load(path)
	if err != nil {
		return err
	}
	result, err := in.config.Installer(filepath.Join(in.dir, filepath.FromSlash(providersDir))).Ensure(ctx, tree.required, lock)
	for _, s := range result.Selections {
		if s.Err == nil && s.From != install.FromBuiltIn {
			fmt.Fprintf(out, "provider  %s %s\n", s.Provider, s.Version)
		}
	}
	if result.Lock.Equal(lock) {
		return err
	}
	if lock.Header == "" && in.terraform {
		result.Lock.Header = lockfile.HeaderTerraform
	}
	// Beside an error, the lock file has the providers that were installed.
	return errors.Join(err, result.Lock.Save(path))
}
