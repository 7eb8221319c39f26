package layout_test

// The functions of the files *_snippets_test.go stand in README.md and docs/*.md, letter by letter.
// TestSnippets compares them, and the tests of snippetruns_test.go run them.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/failure"
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

func newest(ctx context.Context, registry *regclient.Client) (addrs.Version, error) {
	versions, err := registry.ProviderVersions(ctx, addrs.MustParseProvider("hashicorp/random"))
	if err != nil {
		return addrs.Version{}, err
	}
	return versions.Newest(addrs.MustParseProviderConstraint("~> 3.6"))
}

func ensure(ctx context.Context, source provider.Source, dir string, required map[addrs.Provider]addrs.ProviderConstraint) error {
	lock, err := lockfile.Load(filepath.Join(dir, lockfile.Name))
	if err != nil {
		return err
	}
	installer := &install.Installer{
		Source: source,
		Dir:    &install.Dir{Path: filepath.Join(dir, ".terraform", "providers")},
	}
	result, err := installer.Ensure(ctx, required, lock)
	for _, s := range result.Selections {
		fmt.Println(s.Provider, s.Version, s.Executable)
	}
	return errors.Join(err, result.Lock.Save(filepath.Join(dir, lockfile.Name)))
}

func ensureAsUser(ctx context.Context, system cliconfig.System, dir string, required map[addrs.Provider]addrs.ProviderConstraint) error {
	config, err := cliconfig.Load(system)
	if err != nil {
		return err // all mistakes in the configuration files, with file and line
	}
	for _, warning := range config.Warnings() {
		log.Print(warning)
	}
	lock, err := lockfile.Load(filepath.Join(dir, lockfile.Name))
	if err != nil {
		return err
	}
	installer := config.Installer(filepath.Join(dir, ".terraform", "providers"))
	result, err := installer.Ensure(ctx, required, lock)
	return errors.Join(err, result.Lock.Save(filepath.Join(dir, lockfile.Name)))
}

func lockPlatforms(ctx context.Context, registry *regclient.Client, lock *lockfile.File) error {
	random, version := addrs.MustParseProvider("hashicorp/random"), addrs.MustParseVersion("3.6.3")
	platforms := []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")}
	var options provider.HashOptions
	locked := lock.Covers(random, version)
	if locked {
		options.Policy.SameRelease = lock.Accept(random, version)
	}
	reports, err := provider.Hashes(ctx, registry, random, version, platforms, options)
	if err != nil {
		return err // reports has the platforms that succeeded
	}
	for _, report := range reports {
		hashes := report.Recordable()
		if locked {
			hashes = report.Local
		}
		if err := lock.Merge(random, version, addrs.MustParseProviderConstraint("~> 3.6"), hashes); err != nil {
			return err
		}
	}
	return nil
}

func check(ctx context.Context, lock *lockfile.File, p addrs.Provider, v addrs.Version, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	policy := verify.Policy{Accept: lock.Accept(p, v)}
	_, err = policy.Check(ctx, verify.Evidence{}, file, info.Size())
	if mismatch, ok := errors.AsType[*checksum.MismatchError](err); ok {
		return fmt.Errorf("%s is not an archive that the lock file accepts: it has the hash %s", file.Name(), mismatch.Got)
	}
	return err
}

func explain(err error) string {
	request, failed := errors.AsType[*failure.RequestError](err)
	switch {
	case errors.Is(err, provider.ErrNoPlatform):
		return "the version has no package for this platform"
	case errors.Is(err, provider.ErrNoVersion):
		return "no version fits the constraint"
	case errors.Is(err, provider.ErrNotFound):
		return "the registry does not have this provider"
	case errors.Is(err, provider.ErrUnauthorized):
		return "log in to the registry"
	case errors.Is(err, checksum.ErrMismatch):
		return "the archive is not the expected one"
	case provider.IsFault(err) && failed:
		return fmt.Sprintf("try again later: %d attempts at %s failed", request.Attempts, request.URL)
	}
	return err.Error()
}
