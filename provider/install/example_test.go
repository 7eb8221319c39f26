package install_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// Install a provider, and look it up by its hashes.
func ExampleDir() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	src := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)

	ctx := context.Background()
	p := addrs.MustParseProvider("registry.example.com/acme/alpha")
	pkg, err := provider.Find(ctx, src, p, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}})
	if err != nil {
		log.Fatal(err)
	}
	dir := &install.Dir{Path: filepath.Join(tmp, "plugins")}
	done, err := dir.Install(ctx, src, pkg, install.Options{})
	if err != nil {
		log.Fatal(err)
	}
	path, err := done.Executable()
	if err != nil {
		log.Fatal(err)
	}
	rel, _ := filepath.Rel(dir.Path, path)
	fmt.Println(done.Report.Trust, filepath.ToSlash(rel))

	found, err := dir.Lookup(ctx, p, pkg.Version, pkg.Platform, done.Report.Recordable())
	fmt.Println(found.Report.Trust, err)
	_, err = dir.Lookup(ctx, p, addrs.MustParseVersion("1.3.0"), pkg.Platform, done.Report.Recordable())
	fmt.Println(errors.Is(err, install.ErrNotInstalled))
	// Output:
	// signed registry.example.com/acme/alpha/1.2.0/linux_amd64/terraform-provider-alpha_v1.2.0
	// accepted <nil>
	// true
}
