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
	"os"
	"os/signal"
	"path/filepath"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir := flag.String("dir", ".", "directory of the configuration")
	terraform := flag.Bool("terraform", false, "follow the rules of Terraform instead of OpenTofu")
	flag.Parse()
	sys := cliconfig.Host()
	sys.Terraform = *terraform
	config, err := cliconfig.Load(sys)
	if err == nil {
		err = initialise(ctx, &initialiser{config: config, dir: *dir, terraform: *terraform}, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
		os.Exit(1)
	}
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
