package regdir_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// This function publishes what goreleaser has left in the directory dist.
func ExampleRegistry_PublishProvider() {
	release := func(ctx context.Context, publicKey string) error {
		registry := &regdir.Registry{Store: &storage.Dir{Path: "/srv/registry"}, Host: svchost.MustParse("registry.example.com")}
		published, err := registry.PublishProvider(ctx, regdir.Release{
			Provider: addrs.MustParseProvider("registry.example.com/acme/demo"),
			Version:  addrs.MustParseVersion("1.0.0"),
			Sums:     "dist/terraform-provider-demo_1.0.0_SHA256SUMS",
			Keys:     []verify.Key{{Armor: publicKey}},
			Manifest: "terraform-registry-manifest.json",
		})
		for _, p := range published {
			fmt.Println(p.Platform, p.Size, p.Report)
		}
		return err
	}
	fmt.Println(release(context.Background(), "not a key"))
	// Output: publish registry.example.com/acme/demo 1.0.0: unreadable key: no armored public key block
}

// A directory becomes a version of a module, and regserve serves it.
func ExampleRegistry_PublishModule() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "source")
	if err := os.Mkdir(source, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "main.tf"), []byte("# a network\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	registry := &regdir.Registry{Store: &storage.Dir{Path: dir}, Host: svchost.MustParse("registry.example.com")}
	network, version := addrs.MustParseModule("registry.example.com/acme/network/aws"), addrs.MustParseModuleVersion("1.0.0")
	loc, err := module.ParseLocation(source) // or "git::https://example.com/network.git?ref=v1.0.0", with Options.Git
	if err != nil {
		log.Fatal(err)
	}
	report, err := registry.PublishModule(ctx, network, version, loc, module.Options{AllowLocal: true})
	if err != nil {
		log.Fatal(err)
	}
	var _ http.Handler = &regserve.Handler{Modules: registry, Host: registry.Host, StreamModules: true}
	fmt.Println(report.Module, report.Version, report.H1)
	// Output: registry.example.com/acme/network/aws 1.0.0 h1:OWdX66z+UQTuQO68XMUywWnSxKsJ36TBX6tYf9lWZkI=
}

// Modules of another registry are copied for machines without internet.
func ExampleRegistry_CopyModules() {
	ctx := context.Background()
	upstream := regtest.New("registry.example.com")
	upstream.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.2.0"})
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	src := &regclient.Client{Transport: &transport.Settings{HTTP: upstream.Client()}} // programs need no HTTP field

	registry := &regdir.Registry{Store: &storage.Dir{Path: dir}, Host: svchost.MustParse("registry.example.com")}
	results, err := registry.CopyModules(ctx, src, []module.Request{
		{Source: addrs.MustParseModuleSource("registry.example.com/acme/network/aws"), Constraint: addrs.MustParseModuleConstraint("~> 1.0")},
	}, module.Options{Git: &module.Git{}})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Report.Module, r.Report.Version)
	}
	// Output: registry.example.com/acme/network/aws 1.2.0
}

// Upkeep of a registry: list, remove, sweep, check.
func ExampleRegistry_Sweep() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "source")
	if err := errors.Join(os.Mkdir(source, 0o755), os.WriteFile(filepath.Join(source, "main.tf"), nil, 0o644)); err != nil {
		log.Fatal(err)
	}
	loc, err := module.ParseLocation(source)
	if err != nil {
		log.Fatal(err)
	}
	registry := &regdir.Registry{Store: &storage.Dir{Path: dir}, Host: svchost.MustParse("registry.example.com")}
	network := addrs.MustParseModule("registry.example.com/acme/network/aws")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if _, err := registry.PublishModule(ctx, network, addrs.MustParseModuleVersion(version), loc, module.Options{AllowLocal: true}); err != nil {
			log.Fatal(err)
		}
	}
	if err := registry.RemoveModule(ctx, network, addrs.MustParseModuleVersion("1.0.0")); err != nil {
		log.Fatal(err)
	}
	err = registry.RemoveProvider(ctx, addrs.MustParseProvider("registry.example.com/acme/demo"), addrs.MustParseVersion("1.0.0")) // not there
	if err != nil {
		log.Fatal(err)
	}
	for listed, err := range registry.All(ctx) {
		fmt.Println(listed.Module, listed.Version, err)
	}
	swept, err := registry.Sweep(ctx) // once a day
	if err != nil {
		log.Fatal(err)
	}
	checked, err := registry.Check(ctx, regdir.CheckOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(swept.Files, "files swept, the rest is complete:", checked.OK())
	// Output:
	// registry.example.com/acme/network/aws 1.1.0 <nil>
	// 0 files swept, the rest is complete: true
}
