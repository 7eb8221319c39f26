package registry_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/module/registry"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// From the source of a module, as in a configuration, to its files. The registry of this example is in
// memory. The zero Client asks the host of the address.
func Example() {
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{
		Address: "acme/network/aws", Version: "1.2.0",
		Files: map[string]string{"README.md": "# Network\n", "modules/subnet/main.tf": "# a subnet\n"},
	})
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "2.0.0"})

	ctx := context.Background()
	client := &registry.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	source := addrs.MustParseModuleSource("registry.example.com/acme/network/aws//modules/subnet")
	versions, err := client.ModuleVersions(ctx, source.Module)
	if err != nil {
		log.Fatal(err)
	}
	version, err := versions.Newest(addrs.MustParseModuleConstraint("~> 1.0"))
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := module.Download(ctx, client, module.Request{Source: source, Version: version, Dir: filepath.Join(dir, "network")}, module.Options{})
	if err != nil {
		log.Fatal(err)
	}
	files, err := os.ReadDir(report.ModuleDir())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Version, report.Subdir, files)
	fmt.Println(report.H1)
	// Output:
	// 1.2.0 modules/subnet [- main.tf]
	// h1:yEizaSkeLD1FZRZCn3s9qfe8QLFbBQ7rgZ/6LrYW0fI=
}

// A registry that serves its packages itself gets its token with the request for a package. Other
// servers do not.
func ExampleClient_OpenModule() {
	reg := regtest.New("registry.example.com")
	private := true
	reg.AddModule(regtest.Module{Address: "acme/network/aws", UseRegistryCredentials: &private})
	reg.AddModule(regtest.Module{Address: "acme/leak/aws", UseRegistryCredentials: &private, Origin: "https://files.example.net"})

	ctx := context.Background()
	client := &registry.Client{
		Transport: &transport.Settings{HTTP: reg.Client(), Credentials: auth.Environ([]string{"TF_TOKEN_registry_example_com=s3cr3t"})},
	}
	for _, name := range []string{"acme/network/aws", "acme/leak/aws"} {
		m := addrs.MustParseModule("registry.example.com/" + name)
		location, err := client.ModuleLocation(ctx, m, addrs.MustParseModuleVersion("1.0.0"))
		if err != nil {
			log.Fatal(err)
		}
		body, err := client.OpenModule(ctx, location)
		if err != nil {
			log.Fatal(err)
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

// The packages of a module are on a server that requires a password from the user's netrc file. The
// registry does not get the password.
func ExampleClient_netrc() {
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Origin: "https://files.example.com"})

	netrc := auth.ParseNetrc([]byte("machine files.example.com login alice password secret\n")) // or LoadNetrc
	client := &registry.Client{Transport: &transport.Settings{HTTP: reg.Client()}, ModuleCredentials: netrc.Lookup}

	ctx := context.Background()
	network, version := addrs.MustParseModule("registry.example.com/acme/network/aws"), addrs.MustParseModuleVersion("1.0.0")
	loc, err := client.ModuleLocation(ctx, network, version)
	if err != nil {
		log.Fatal(err)
	}
	body, err := client.OpenModule(ctx, loc) // as module.Download does
	if err != nil {
		log.Fatal(err)
	}
	defer body.Close()
	_, _ = io.Copy(io.Discard, body)
	for _, q := range reg.Requests() {
		fmt.Printf("%s: %q\n", q.Kind, q.Authorization)
	}
	// Output:
	// discovery: ""
	// module location: ""
	// module package: "Basic YWxpY2U6c2VjcmV0"
}
