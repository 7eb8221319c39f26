package layout_test

// The functions of this file stand in README.md, letter by letter; TestReadme
// compares the two and readme_test.go runs them.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func download(ctx context.Context, registry *regclient.Client, dir string) (*verify.Report, error) {
	random, constraint := addrs.MustParseProvider("hashicorp/random"), addrs.MustParseProviderConstraint("~> 3.6")
	pkg, err := provider.Find(ctx, registry, random, constraint, provider.Need{})
	if err != nil {
		return nil, err
	}
	return provider.Download(ctx, registry, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.Options{})
}

func fetchModule(ctx context.Context, registry *regclient.Client, dir string) (checksum.Hash, error) {
	source := addrs.MustParseModuleSource("registry.example.com/acme/network/aws//modules/subnet")
	options := module.Options{Git: &module.Git{}, Replace: true}
	report, err := module.Download(ctx, registry, source, addrs.MustParseVersion("1.2.0"), dir, options)
	if err != nil {
		return checksum.Hash{}, err
	}
	return report.H1, nil
}

func ensure(ctx context.Context, config *cliconfig.Config, dir string, required map[addrs.Provider]addrs.ProviderConstraint) (*install.Result, error) {
	lock, err := lockfile.Load(filepath.Join(dir, lockfile.Name))
	if err != nil {
		return nil, err
	}
	// With the user's mirrors, tokens, host overrides, plugin cache, dev_overrides, and the CLI's trust.
	installer := config.Installer(filepath.Join(dir, ".terraform", "providers"))
	result, err := installer.Ensure(ctx, required, lock)
	// Beside an error the others are installed and locked.
	return result, errors.Join(err, result.Lock.Save(filepath.Join(dir, lockfile.Name)))
}

func check(ctx context.Context, file *os.File, size int64, locked []checksum.Hash) error {
	policy := verify.Policy{Accept: append([]checksum.Hash{}, locked...)} // not nil: it must have one of them
	_, err := policy.Check(ctx, verify.Evidence{}, file, size)
	if mismatch, ok := errors.AsType[*checksum.MismatchError](err); ok {
		return fmt.Errorf("%s is not what was locked, it has %s", file.Name(), mismatch.Got)
	}
	return err
}
