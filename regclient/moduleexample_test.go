package regclient_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// From the source of a module, as in a configuration, to its files. The registry of this example is in
// memory. The zero Client asks the host of the address.
func Example_modules() {
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{
		Address: "acme/network/aws", Version: "1.2.0",
		Files: map[string]string{"README.md": "# Network\n", "modules/subnet/main.tf": "# a subnet\n"},
	})
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "2.0.0"})

	ctx := context.Background()
	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
	source := addrs.MustParseModuleSource("registry.example.com/acme/network/aws//modules/subnet")
	versions, err := client.ModuleVersions(ctx, source.Module)
	if err != nil {
		fmt.Println(err)
		return
	}
	version, err := versions.Newest(addrs.MustParseModuleConstraint("~> 1.0"))
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	report, err := module.Download(ctx, client, source, version, filepath.Join(dir, "network"), module.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := os.ReadDir(report.ModuleDir())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Version, report.Subdir, files)
	fmt.Println(report.H1)
	// Output:
	// 1.2.0 modules/subnet [- main.tf]
	// h1:yEizaSkeLD1FZRZCn3s9qfe8QLFbBQ7rgZ/6LrYW0fI=
}

// Versions are listed newest first.
func ExampleClient_ModuleVersions() {
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "v1.9", Properties: map[string]any{
		"deprecated": map[string]any{"reason": "opens port 22 to all"},
	}})
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "v1.10"})
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "latest"})

	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
	versions, err := client.ModuleVersions(context.Background(), addrs.MustParseModule("registry.example.com/acme/network/aws"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, release := range versions.List {
		fmt.Print(release.Version)
		if release.Deprecated != nil {
			fmt.Print(", deprecated: ", release.Deprecated.Reason)
		}
		fmt.Println()
	}
	for _, warning := range versions.Warnings {
		fmt.Println("warning:", warning)
	}
	// Output:
	// 1.10.0
	// 1.9.0, deprecated: opens port 22 to all
	// warning: ignored invalid version "latest"
}

// The fields of a location tell where the package is. The error for a missing version tells which
// versions are listed.
func ExampleClient_ModuleLocation() {
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{
		Address: "acme/network/aws", Version: "1.2.0",
		Location: "git::https://git.example.com/modules.git//network?ref=v1.2.0",
	})

	ctx := context.Background()
	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
	network := addrs.MustParseModule("registry.example.com/acme/network/aws")
	location, err := client.ModuleLocation(ctx, network, addrs.MustParseModuleVersion("1.2.0"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(location.Kind, location.URL, location.Ref, location.Subdir)

	_, err = client.ModuleLocation(ctx, network, addrs.MustParseModuleVersion("1.3.0"))
	var unavailable *module.UnavailableError
	switch {
	case errors.As(err, &unavailable):
		fmt.Println("no such version, the newest is", unavailable.Newest)
	case errors.Is(err, module.ErrNotFound):
		fmt.Println("no such module")
	case err != nil:
		fmt.Println(err)
	}
	// Output:
	// git https://git.example.com/modules.git v1.2.0 network
	// no such version, the newest is 1.2.0
}

// A registry that serves its packages itself gets its token with the request for a package. Other
// servers do not.
func ExampleClient_OpenModule() {
	reg := regtest.New("registry.example.com")
	private := true
	reg.AddModule(regtest.Module{Address: "acme/network/aws", UseRegistryCredentials: &private})
	reg.AddModule(regtest.Module{Address: "acme/leak/aws", UseRegistryCredentials: &private, Origin: "https://files.example.net"})

	ctx := context.Background()
	client := &regclient.Client{
		Transport: &transport.Client{HTTP: reg.Client(), Credentials: auth.Environ([]string{"TF_TOKEN_registry_example_com=s3cr3t"})},
	}
	for _, name := range []string{"acme/network/aws", "acme/leak/aws"} {
		m := addrs.MustParseModule("registry.example.com/" + name)
		location, err := client.ModuleLocation(ctx, m, addrs.MustParseModuleVersion("1.0.0"))
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := client.OpenModule(ctx, location)
		if err != nil {
			fmt.Println(err)
			return
		}
		body.Close()
	}
	for _, request := range reg.Requests() {
		if request.Kind == regtest.ModulePackage {
			fmt.Printf("%s saw %q\n", request.Host, request.Authorization)
		}
	}
	// Output:
	// registry.example.com saw "Bearer s3cr3t"
	// files.example.net saw ""
}
