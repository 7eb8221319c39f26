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
	"github.com/tofureg/tofureg/verify/checksum"
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

// Put a package of a shared cache into the directory of a project, if it has a locked hash.
func ExampleDir_Place() {
	ctx := context.Background()
	tmp := exampleCache()
	defer os.RemoveAll(tmp)
	cache := &install.Dir{Path: filepath.Join(tmp, "cache")}
	project := &install.Dir{Path: filepath.Join(tmp, "project")}
	alpha, version, linux := addrs.MustParseProvider("acme/alpha"), addrs.MustParseVersion("1.2.0"), addrs.MustParsePlatform("linux_amd64")
	locked := []checksum.Hash{checksum.MustParseHash("h1:IJ8vE7s6gzsYwPfrDfufVdwiYqfXzndFIWiFVR4Jtzw=")} // from the lock file
	found, err := cache.Lookup(ctx, alpha, version, linux, locked)
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

// Remove all packages for other platforms than linux_amd64.
func ExampleDir_Prune() {
	tmp := exampleCache()
	defer os.RemoveAll(tmp)
	cache := &install.Dir{Path: filepath.Join(tmp, "cache")}
	linux := addrs.MustParsePlatform("linux_amd64")
	removed, err := cache.Prune(context.Background(), func(pkg *install.Package) bool { return pkg.Platform == linux })
	fmt.Println("removed", removed, err)
	for pkg, err := range cache.All() {
		fmt.Println("kept", pkg, err)
	}
	// Output:
	// removed [registry.opentofu.org/acme/alpha 1.2.0 windows_amd64] <nil>
	// kept registry.opentofu.org/acme/alpha 1.2.0 linux_amd64 <nil>
}

// exampleCache returns a temporary directory with two packages in the directory "cache".
func exampleCache() string {
	tmp, err := os.MkdirTemp("", "example")
	for _, platform := range []string{"linux_amd64", "windows_amd64"} {
		dir := filepath.Join(tmp, "cache", "registry.opentofu.org", "acme", "alpha", "1.2.0", platform)
		err = errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "terraform-provider-alpha"), []byte("program"), 0o755))
	}
	if err != nil {
		log.Fatal(err)
	}
	return tmp
}
