// Lock writes a dependency lock file for several platforms, so that a team and its CI can share
// it.
//
//	go run ./examples/lock
//	go run ./examples/lock -platform linux_amd64 -platform darwin_arm64 hashicorp/random 'hashicorp/aws@~> 6.0'
//	go run ./examples/lock -lockfile infra/.terraform.lock.hcl
//
// Without arguments, it asks a registry in the program. With providers, it asks their
// registries, with the tokens of TF_TOKEN_* variables, and adds them to the lock file in this
// directory. A locked version stays if the constraint allows it. If no constraint is given, the
// locked constraint stays. With a lock file only, it completes all entries. Comments in the
// file stay.
//
// Archives are downloaded and verified, but not unpacked. With -store, their hashes are stored
// for the next run. With -stated, it records the hashes that the registry of OpenTofu states for new
// versions, and does not download these archives.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/examples/internal/program"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/hashstore"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
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

// update completes the lock file with packages of source.
func update(ctx context.Context, o options, source provider.Source, out, terminal io.Writer) error {
	lock, err := lockfile.LoadLenient(o.file)
	if err != nil {
		return err
	}
	entries := wanted(lock, o.providers)
	if len(entries) == 0 {
		return fmt.Errorf("%s locks nothing; name the providers to lock", o.file)
	}
	display := newDisplay(terminal, len(entries)*len(o.platforms))
	l := &locker{source: source, lock: lock, platforms: o.platforms}
	l.options.Stated = o.stated
	l.options.Progress = display.show
	l.options.Limiter = new(provider.Limiter) // shared by all providers
	if o.store != "" {
		l.options.Store = &hashstore.Dir{Path: o.store}
	}
	results := l.all(ctx, entries)
	display.line.Clear()
	if err := merge(lock, results, out); err != nil {
		return err // do not write an incomplete lock file
	}
	if o.embedded {
		_, err = fmt.Fprintf(out, "\n%s", lock.Bytes())
		return err
	}
	return lock.Save(o.file)
}

// wanted returns the providers to lock. If there are no providers, it returns all entries of lock.
func wanted(lock *lockfile.File, providers []lockfile.Entry) []lockfile.Entry {
	if len(providers) == 0 {
		for e := range lock.All() {
			providers = append(providers, e)
		}
		return providers
	}
	for i, want := range providers {
		have, ok := lock.Get(want.Provider)
		switch {
		case !ok:
		case want.Constraints.IsZero():
			providers[i] = have
		case want.Constraints.Allows(have.Version):
			providers[i].Version = have.Version
		}
	}
	return providers
}

// locker hashes packages for a lock file.
type locker struct {
	source    provider.Source
	lock      *lockfile.File
	platforms []addrs.Platform
	options   provider.HashOptions
}

// result is the result for one provider. It may have reports and an error.
type result struct {
	entry   lockfile.Entry
	locked  bool // the lock file has hashes of the version
	reports map[addrs.Platform]*verify.Report
	err     error
}

// all hashes all providers concurrently.
func (l *locker) all(ctx context.Context, entries []lockfile.Entry) []result {
	results := make([]result, len(entries))
	var wg sync.WaitGroup
	for i, entry := range entries {
		wg.Go(func() { results[i] = l.one(ctx, entry) })
	}
	wg.Wait()
	return results
}

// one chooses a version, if none is locked, and hashes its packages.
func (l *locker) one(ctx context.Context, entry lockfile.Entry) result {
	if entry.Version.IsZero() {
		versions, err := l.source.ProviderVersions(ctx, entry.Provider)
		if err == nil {
			entry.Version, err = versions.NewestFor(entry.Constraints, provider.Need{Platforms: l.platforms})
		}
		if err != nil {
			return result{entry: entry, err: err}
		}
	}
	options := l.options
	locked := l.lock.Covers(entry.Provider, entry.Version)
	if locked {
		// A hostile registry could replace a version, its archives and its keys.
		options.Policy.SameRelease = l.lock.Accept(entry.Provider, entry.Version)
	}
	reports, err := provider.Hashes(ctx, l.source, entry.Provider, entry.Version, l.platforms, options)
	return result{entry, locked, reports, err}
}

// merge prints the results and adds them to the lock file.
func merge(lock *lockfile.File, results []result, out io.Writer) error {
	var errs []error
	for _, r := range results {
		for platform, report := range inOrder(r.reports) {
			how := "computed"
			if len(report.Local) == 0 {
				how = "stated"
			}
			fmt.Fprintf(out, "locked   %s %s %s, %s, %s\n", r.entry.Provider, r.entry.Version, platform, report.Trust, how)
			hashes := report.Recordable()
			if r.locked { // what else the source signs may be forged
				hashes = report.Local
			}
			errs = append(errs, lock.Merge(r.entry.Provider, r.entry.Version, r.entry.Constraints, hashes))
		}
		errs = append(errs, r.err)
	}
	return errors.Join(errs...)
}
