package mirrordir_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// exampleRegistry returns a client of a registry in memory. A program omits HTTP to use the
// registry of each provider's host.
func exampleRegistry() *regclient.Client {
	reg := regtest.New("registry.example.com")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version})
	}
	return &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
}

// exampleDir returns a new directory.
func exampleDir() string {
	dir, err := os.MkdirTemp("", "mirror-")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// exampleMirror returns a mirror in a new directory.
func exampleMirror() (*mirrordir.Mirror, string) {
	dir := exampleDir()
	mirror, err := mirrordir.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	return mirror, dir
}

// Add a provider for two platforms. The second call finds both archives in the mirror.
func ExampleMirror_Add() {
	registry, dir := exampleRegistry(), exampleDir()
	defer os.RemoveAll(dir)

	mirror, err := mirrordir.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	wants := []mirrordir.Want{{
		Provider:  addrs.MustParseProvider("registry.example.com/acme/alpha"),
		Version:   addrs.MustParseVersion("1.1.0"),
		Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")},
	}}
	for range 2 {
		added, err := mirror.Add(context.Background(), registry, wants, mirrordir.AddOptions{})
		if err != nil {
			log.Fatal(err)
		}
		for _, a := range added {
			if a.Report == nil {
				fmt.Println(a.Version, a.Platform, "kept")
			} else {
				fmt.Println(a.Version, a.Platform, a.Report.Trust)
			}
		}
	}
	names, _ := filepath.Glob(filepath.Join(dir, "registry.example.com", "acme", "alpha", "*"))
	for _, name := range names {
		fmt.Println(filepath.Base(name))
	}
	// Output:
	// 1.1.0 darwin_arm64 signed
	// 1.1.0 linux_amd64 signed
	// 1.1.0 darwin_arm64 kept
	// 1.1.0 linux_amd64 kept
	// 1.1.0.json
	// index.json
	// record_terraform-provider-alpha_1.1.0_darwin_arm64.json
	// record_terraform-provider-alpha_1.1.0_linux_amd64.json
	// terraform-provider-alpha_1.1.0_darwin_arm64.zip
	// terraform-provider-alpha_1.1.0_linux_amd64.zip
}

// Add exactly the packages in a lock file.
func ExampleMirror_AddLocked() {
	ctx, registry := context.Background(), exampleRegistry()
	mirror, dir := exampleMirror()
	defer os.RemoveAll(dir)
	p, v := addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParseVersion("1.0.0")
	platforms := []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}

	// A program would call lockfile.Load instead.
	pkg, err := registry.ProviderPackage(ctx, p, v, platforms[0])
	if err != nil {
		log.Fatal(err)
	}
	var lock lockfile.File
	if err := lock.Merge(p, v, addrs.ProviderConstraint{}, []checksum.Hash{pkg.SHA256}); err != nil {
		log.Fatal(err)
	}

	added, err := mirror.AddLocked(ctx, registry, &lock, platforms, mirrordir.AddOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range added {
		fmt.Println(a.Provider, a.Version, a.Platform, a.Report.Trust)
	}
	// Output: registry.example.com/acme/alpha 1.0.0 linux_amd64 accepted
}

// Check a mirror, and repair it with Add.
func ExampleMirror_Check() {
	ctx, registry := context.Background(), exampleRegistry()
	mirror, dir := exampleMirror()
	defer os.RemoveAll(dir)
	wants := []mirrordir.Want{{
		Provider:  addrs.MustParseProvider("registry.example.com/acme/alpha"),
		Version:   addrs.MustParseVersion("1.0.0"),
		Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")},
	}}
	damage := filepath.Join(dir, "registry.example.com", "acme", "alpha", "terraform-provider-alpha_1.0.0_linux_amd64.zip")
	for range 2 {
		if _, err := mirror.Add(ctx, registry, wants, mirrordir.AddOptions{}); err != nil {
			log.Fatal(err)
		}
		report, err := mirror.Check(ctx, mirrordir.CheckOptions{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Archives, "archives, good:", report.OK())

		if err := os.Truncate(damage, 100); err != nil {
			log.Fatal(err)
		}
		if report, err = mirror.Check(ctx, mirrordir.CheckOptions{}); err != nil {
			log.Fatal(err)
		}
		for _, problem := range report.Problems {
			fmt.Println(problem.Kind, problem.Version, problem.Platform)
		}
	}
	// Output:
	// 1 archives, good: true
	// changed 1.0.0 linux_amd64
	// 1 archives, good: true
	// changed 1.0.0 linux_amd64
}

// Record and list archives that another program has added, and remove a version.
func ExampleMirror_Reindex() {
	ctx, registry := context.Background(), exampleRegistry()
	mirror, dir := exampleMirror()
	defer os.RemoveAll(dir)
	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	v1 := addrs.MustParseVersion("1.0.0")

	// The other program, like "tofu providers mirror", writes only an archive.
	pkg, err := registry.ProviderPackage(ctx, alpha, v1, addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		log.Fatal(err)
	}
	home := filepath.Join(dir, "registry.example.com", "acme", "alpha")
	if err := os.MkdirAll(home, 0o755); err != nil {
		log.Fatal(err)
	}
	if _, err := provider.Download(ctx, registry, pkg, filepath.Join(home, pkg.ArchiveName()), provider.DownloadOptions{}); err != nil {
		log.Fatal(err)
	}

	report, err := mirror.Reindex(ctx, mirrordir.CheckOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Archives, "archives, good:", report.OK())
	versions, err := mirror.ListedVersions(ctx, alpha)
	fmt.Println(versions, err)

	if err := mirror.Remove(ctx, alpha, v1); err != nil {
		log.Fatal(err)
	}
	_, err = mirror.ProviderVersions(ctx, alpha)
	fmt.Println(errors.Is(err, failure.ErrNotFound))
	// Output:
	// 1 archives, good: true
	// [1.0.0] <nil>
	// true
}

// A server over a bucket sweeps once a day, beside its other work.
func ExampleMirror_Sweep() {
	ctx := context.Background()
	mirror := &mirrordir.Mirror{Store: &storage.Memory{}} // a bucket has no locks either
	wants := []mirrordir.Want{{
		Provider:  addrs.MustParseProvider("registry.example.com/acme/alpha"),
		Version:   addrs.MustParseVersion("1.0.0"),
		Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")},
	}}
	if _, err := mirror.Add(ctx, exampleRegistry(), wants, mirrordir.AddOptions{}); err != nil {
		log.Fatal(err)
	}
	if err := mirror.Remove(ctx, wants[0].Provider, wants[0].Version); err != nil {
		log.Fatal(err)
	}
	daily := time.NewTicker(time.Millisecond) // time.NewTicker(24 * time.Hour)
	defer daily.Stop()
	for range daily.C {
		swept, err := mirror.Sweep(ctx)
		if err != nil {
			log.Print(err) // the next one tries again
			continue
		}
		fmt.Println(swept.Files, "files deleted") // an archive and its record
		break                                     // a server goes on
	}
	// Output: 2 files deleted
}

// Update a mirror: add the newest version of each provider for its platforms.
func ExampleMirror_All() {
	ctx, registry := context.Background(), exampleRegistry()
	mirror, dir := exampleMirror()
	defer os.RemoveAll(dir)
	first := []mirrordir.Want{{
		Provider:  addrs.MustParseProvider("registry.example.com/acme/alpha"),
		Version:   addrs.MustParseVersion("1.0.0"),
		Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")},
	}}
	if _, err := mirror.Add(ctx, registry, first, mirrordir.AddOptions{}); err != nil {
		log.Fatal(err)
	}

	var wants []mirrordir.Want
	for held, err := range mirror.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		versions, err := registry.ProviderVersions(ctx, held.Provider)
		if err != nil {
			log.Fatal(err)
		}
		if held.Version, err = versions.Newest(addrs.ProviderConstraint{}); err != nil {
			log.Fatal(err)
		}
		wants = append(wants, held)
	}
	added, err := mirror.Add(ctx, registry, wants, mirrordir.AddOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range added {
		fmt.Println(a.Provider, a.Version, a.Platform, "fetched:", a.Fetched)
	}
	// Output: registry.example.com/acme/alpha 1.1.0 linux_amd64 fetched: true
}

// Keep each archive that a program receives, and ask the registry only for what is not there.
func ExampleMirror_AddArchive() {
	ctx := context.Background()
	registry := exampleRegistry()
	mirror, dir := exampleMirror()
	defer os.RemoveAll(dir)

	demo, v, platform := addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParseVersion("1.1.0"), addrs.MustParsePlatform("linux_amd64")
	keep := func() error {
		pkg, err := mirror.RecordedPackage(ctx, demo, v, platform, verify.Policy{})
		if err != nil || pkg != nil {
			fmt.Println("kept:", pkg)
			return err
		}
		if pkg, err = registry.ProviderPackage(ctx, demo, v, platform); err != nil {
			return err
		}
		file, err := storage.Stage(ctx, mirror.Store, mirror.TempDir)
		if err != nil {
			return err
		}
		defer file.Discard()
		got, err := provider.Receive(ctx, registry, pkg, file.File, provider.ReceiveOptions{FetchEvidence: true})
		if err != nil {
			return err
		}
		added, err := mirror.AddArchive(ctx, file, pkg, got, verify.Policy{})
		if err == nil {
			fmt.Println("received:", added.Report.Trust)
		}
		return err
	}
	for range 2 {
		if err := keep(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// received: signed
	// kept: registry.example.com/acme/alpha 1.1.0 linux_amd64
}
