package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Install the newest version that a constraint allows, and find its program.
func ExampleDir_Install() {
	registry := regtest.New("registry.example.com") // instead of a real one
	registry.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	plugins, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(plugins)

	ctx := context.Background()
	source := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
	need := provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	pkg, err := provider.Find(ctx, source, addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParseProviderConstraint("~> 1.0"), need)
	if err != nil {
		log.Fatal(err)
	}
	installed, err := (&install.Dir{Path: plugins}).Install(ctx, source, pkg, install.Options{})
	if err != nil {
		log.Fatal(err)
	}
	program, err := installed.Executable() // for exec.CommandContext
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pkg, "is", installed.Report.Trust, "and has", filepath.Base(program))
	// Output: registry.example.com/acme/alpha 1.2.0 linux_amd64 is signed and has terraform-provider-alpha_v1.2.0
}

// Put a package of a shared cache into the directory of a project, if it has a locked hash.
func ExampleDir_Place() {
	ctx := context.Background()
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	cache := &install.Dir{Path: filepath.Join(tmp, "cache")}
	project := &install.Dir{Path: filepath.Join(tmp, "project")}
	alpha, version, linux := addrs.MustParseProvider("acme/alpha"), addrs.MustParseVersion("1.2.0"), addrs.MustParsePlatform("linux_amd64")
	dir := cache.PathOf(alpha, version, linux)
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "terraform-provider-alpha"), []byte("program"), 0o755)); err != nil {
		log.Fatal(err)
	}
	locked := []checksum.Hash{checksum.MustParseHash("h1:IJ8vE7s6gzsYwPfrDfufVdwiYqfXzndFIWiFVR4Jtzw=")} // from the lock file
	found, err := cache.Lookup(ctx, alpha, version, linux, checksum.NewSet(locked...))
	if err != nil {
		log.Fatal(err)
	}
	placed, err := project.Place(ctx, found, true)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(placed, placed.Dir == project.PathOf(alpha, version, linux))
	// Output: registry.opentofu.org/acme/alpha 1.2.0 linux_amd64 true
}

// Ensure selects, installs and locks providers, also for another platform. The second call makes no
// request.
func ExampleInstaller_Ensure() {
	registry := regtest.New("registry.opentofu.org") // instead of the real one
	registry.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: "3.6.0"})
	registry.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: "4.0.0"})
	project, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)

	random := addrs.MustParseProvider("hashicorp/random")
	requirements := install.Requirements{random: addrs.MustParseProviderConstraint("~> 3.6")}
	installer := &install.Installer{
		Source:        &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}},
		Dir:           &install.Dir{Path: filepath.Join(project, ".terraform", "providers")},
		Platform:      addrs.MustParsePlatform("linux_amd64"),
		LockPlatforms: []addrs.Platform{addrs.MustParsePlatform("darwin_arm64")},
	}
	for range 2 {
		ctx := context.Background()
		err := lockfile.Update(ctx, filepath.Join(project, lockfile.Name), func(lock *lockfile.File) (*lockfile.File, error) {
			result, err := installer.Ensure(ctx, requirements, lock)
			for _, s := range result.Selections {
				fmt.Println(s.Provider, s.Version, "was in the", s.From, "and is", s.Reports[s.Platform].Trust, "- new in the lock file:", s.Unlocked)
			}
			return result.Lock, err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// registry.opentofu.org/hashicorp/random 3.6.0 was in the source and is signed - new in the lock file: [darwin_arm64]
	// registry.opentofu.org/hashicorp/random 3.6.0 was in the dir and is accepted - new in the lock file: []
}

// To install exactly what is locked, load a file that must exist, and set ReadOnly.
func ExampleInstaller_Ensure_readOnly() {
	project, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	_, err = lockfile.LoadExisting(filepath.Join(project, lockfile.Name))
	fmt.Println(errors.Is(err, fs.ErrNotExist))

	installer := &install.Installer{
		Source:   &regclient.Client{},
		Dir:      &install.Dir{Path: filepath.Join(project, ".terraform", "providers")},
		ReadOnly: true,
	}
	random := addrs.MustParseProvider("hashicorp/random")
	_, err = installer.Ensure(context.Background(), install.Requirements{random: addrs.ProviderConstraint{}}, &lockfile.File{})
	fmt.Println(err)
	// Output:
	// true
	// the lock file must change: it has no hashes for registry.opentofu.org/hashicorp/random: run without ReadOnly to lock it
}

// Lock adds new providers, and a platform to a locked version, whose other hashes stay.
func ExampleLock() {
	registry := regtest.New("registry.opentofu.org") // instead of the real one
	registry.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: "3.6.0"})
	registry.AddProvider(regtest.Provider{Address: "hashicorp/null", Version: "3.2.4"})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}

	requirements := install.Requirements{
		addrs.MustParseProvider("hashicorp/random"): addrs.MustParseProviderConstraint("~> 3.6"),
	}
	lock := &lockfile.File{} // or from lockfile.Load
	for _, platform := range []string{"linux_amd64", "darwin_arm64"} {
		platforms := []addrs.Platform{addrs.MustParsePlatform(platform)}
		result, err := (&install.Installer{Source: client, LockPlatforms: platforms}).Lock(context.Background(), requirements, lock)
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range result.Selections {
			entry, _ := result.Lock.Get(s.Provider)
			fmt.Println(s.Provider, s.Version, platform, s.Reports[platforms[0]].Trust, "-", len(checksum.WithScheme(entry.Hashes, checksum.SchemeH1)), "h1")
		}
		lock = result.Lock
		requirements[addrs.MustParseProvider("hashicorp/null")] = addrs.ProviderConstraint{}
	}
	// Output:
	// registry.opentofu.org/hashicorp/random 3.6.0 linux_amd64 signed - 1 h1
	// registry.opentofu.org/hashicorp/null 3.2.4 darwin_arm64 signed - 1 h1
	// registry.opentofu.org/hashicorp/random 3.6.0 darwin_arm64 accepted - 2 h1
}

// A table says who signed each entry of a lock file, with a pinned key for each namespace, and whether the
// signed document lists the locked hashes.
func ExampleCheckEntry() {
	acme, other := regtest.NewKey(regtest.KeyOptions{}), regtest.NewKey(regtest.KeyOptions{})
	registry := regtest.New("registry.example.com") // instead of the real one
	lock := &lockfile.File{}                        // or from lockfile.Load
	for name, key := range map[string]*regtest.Key{"good": acme, "unpacked": acme, "edited": acme, "foreign": other} {
		release := registry.AddProvider(regtest.Provider{Address: "acme/" + name, Version: "1.2.0", Keys: []*regtest.Key{key}})
		hashes := []checksum.Hash{release.H1("linux_amd64"), release.ZH("linux_amd64"), release.ZH("darwin_arm64")}
		switch name {
		case "unpacked":
			hashes = hashes[:1]
		case "edited":
			hashes[1] = checksum.ZHSum([32]byte{})
		}
		e := lockfile.Entry{Provider: addrs.MustParseProvider("registry.example.com/acme/" + name), Version: addrs.MustParseVersion("1.2.0"), Hashes: hashes}
		if err := lock.Set(e); err != nil {
			log.Fatal(err)
		}
	}

	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
	pinned, err := verify.ParseFingerprints(acme.Fingerprint())
	if err != nil {
		log.Fatal(err)
	}
	policy := verify.Policy{Fingerprints: pinned}
	for e := range lock.All() {
		check, err := install.CheckEntry(context.Background(), client, e, policy)
		switch {
		case errors.Is(err, verify.ErrUnknownKey):
			fmt.Printf("%-10s signed by another key\n", e.Provider.Type())
		case err != nil:
			fmt.Printf("%-10s %v\n", e.Provider.Type(), err)
		default:
			signed := check.SignedBy.Fingerprint == acme.Fingerprint()
			fmt.Printf("%-10s signed by acme: %t, %-8s %d listed, %d not, %d unknown\n", e.Provider.Type(), signed, check, len(check.Listed), len(check.Unlisted), len(check.Unknown))
		}
	}
	// Output:
	// edited     signed by acme: true, unlisted 1 listed, 1 not, 1 unknown
	// foreign    signed by another key
	// good       signed by acme: true, listed   2 listed, 0 not, 1 unknown
	// unpacked   signed by acme: true, unknown  0 listed, 0 not, 1 unknown
}

// A report says which key signs each entry of a lock file, and which keys end within 90 days.
func ExampleCheckEntry_keysThatEnd() {
	today := time.Date(2090, time.May, 1, 0, 0, 0, 0, time.UTC) // instead of time.Now()
	registry, lock := regtest.New("registry.example.com"), &lockfile.File{}
	for name, end := range map[string]time.Time{"cloud": today.AddDate(0, 0, 30), "dns": today.AddDate(2, 0, 0), "random": {}} {
		key := regtest.NewKey(regtest.KeyOptions{Name: name, Expires: end})
		release := registry.AddProvider(regtest.Provider{Address: "acme/" + name, Version: "1.2.0", Keys: []*regtest.Key{key}})
		e := lockfile.Entry{Provider: addrs.MustParseProvider("registry.example.com/acme/" + name), Version: addrs.MustParseVersion("1.2.0")}
		e.Hashes = []checksum.Hash{release.ZH("linux_amd64")}
		if err := lock.Set(e); err != nil {
			log.Fatal(err)
		}
	}

	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
	for e := range lock.All() {
		check, err := install.CheckEntry(context.Background(), client, e, verify.Policy{})
		if err != nil {
			log.Fatal(err)
		}
		by, when := check.SignedBy, "never"
		if !by.KeyExpires.IsZero() {
			when = by.KeyExpires.Format(time.DateOnly)
		}
		soon := !by.KeyExpires.IsZero() && by.KeyExpires.Before(today.AddDate(0, 0, 90))
		fmt.Printf("%-7s %s ends: %s, within 90 days: %t\n", e.Provider.Type(), by.UserID, when, soon)
	}
	// Output:
	// cloud   cloud <regtest@example.com> ends: 2090-05-31, within 90 days: true
	// dns     dns <regtest@example.com> ends: 2092-05-01, within 90 days: false
	// random  random <regtest@example.com> ends: never, within 90 days: false
}

// A program can show a plan and ask the user.
func ExampleInstaller_Plan() {
	registry := regtest.New("registry.example.com") // instead of a real one
	registry.AddProvider(regtest.Provider{Address: "acme/cloud", Version: "1.0.0"})
	installer := &install.Installer{
		Source:   &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}},
		Dir:      &install.Dir{Path: "providers"},
		Platform: addrs.MustParsePlatform("linux_amd64"),
	}
	plan, err := installer.Plan(context.Background(), install.Requirements{
		addrs.MustParseProvider("registry.example.com/acme/cloud"): {},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range plan.Selections {
		fmt.Println(s.From, s.Package)
	}
	// Output:
	// source registry.example.com/acme/cloud 1.0.0 linux_amd64
}

// A program for CI says for which platforms a lock file lacks hashes.
func ExampleCheckPlatforms() {
	registry := regtest.New("registry.example.com") // instead of the real one
	release := registry.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64", "darwin_arm64"}})
	lock := &lockfile.File{} // or from lockfile.Load
	e := lockfile.Entry{Provider: addrs.MustParseProvider("registry.example.com/acme/alpha"), Version: addrs.MustParseVersion("1.2.0")}
	e.Hashes = []checksum.Hash{release.ZH("linux_amd64")}
	if err := lock.Set(e); err != nil {
		log.Fatal(err)
	}

	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
	platforms := []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64"), addrs.MustParsePlatform("windows_amd64")}
	list, err := install.CheckPlatforms(context.Background(), client, lock, platforms, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range list {
		for _, on := range slices.SortedFunc(maps.Keys(c.Platforms), addrs.Platform.Compare) {
			fmt.Println(c.Provider, c.Version, on, c.Platforms[on])
		}
		fmt.Println("suffices:", c.OK())
	}
	// Output:
	// registry.example.com/acme/alpha 1.2.0 darwin_arm64 missing
	// registry.example.com/acme/alpha 1.2.0 linux_amd64 zh
	// registry.example.com/acme/alpha 1.2.0 windows_amd64 not built
	// suffices: false
}

// A plugin directory keeps the packages of one provider.
func ExampleDir_Prune() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	dir := &install.Dir{Path: tmp}
	alpha, beta := addrs.MustParseProvider("acme/alpha"), addrs.MustParseProvider("acme/beta")
	version, linux := addrs.MustParseVersion("1.2.0"), addrs.MustParsePlatform("linux_amd64")
	for _, p := range []addrs.Provider{alpha, beta} {
		if err := os.MkdirAll(dir.PathOf(p, version, linux), 0o755); err != nil {
			log.Fatal(err)
		}
	}
	removed, err := dir.Prune(context.Background(), func(pkg *install.Package) bool { return pkg.Provider == alpha })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("removed:", removed)
	for pkg, err := range dir.All() {
		fmt.Println("stays:", pkg, err)
	}
	_, err = dir.Get(beta, version, linux)
	fmt.Println(errors.Is(err, failure.ErrNotFound))
	// Output:
	// removed: [registry.opentofu.org/acme/beta 1.2.0 linux_amd64]
	// stays: registry.opentofu.org/acme/alpha 1.2.0 linux_amd64 <nil>
	// true
}
