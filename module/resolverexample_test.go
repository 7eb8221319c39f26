package module_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// A resolver for a tool with a getter of its own. DownloadLocation fetches only the packages that
// the registry serves itself, because they may need its token.
func ExampleLocation_PackageSource() {
	withToken := true
	registry := regtest.New("registry.example.com")
	registry.AddModule(regtest.Module{Address: "acme/private/aws", UseRegistryCredentials: &withToken})
	registry.AddModule(regtest.Module{Address: "acme/public/aws", Location: "git::https://git.example.com/acme/modules.git//aws?ref=v1.0.0"})
	registry.Require("xxxxxx", regtest.ModulePackage)

	ctx := context.Background()
	token := auth.MustNewToken("xxxxxx").For(svchost.MustParse("registry.example.com"))
	client := &regclient.Client{Transport: &transport.Client{HTTP: registry.Client(), Credentials: token}}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, text := range []string{"registry.example.com/acme/private/aws", "registry.example.com/acme/public/aws//modules/vpc"} {
		source := addrs.MustParseModuleSource(text)
		loc, err := client.ModuleLocation(ctx, source.Module, addrs.MustParseVersion("1.0.0"))
		if err != nil {
			log.Fatal(err)
		}
		if loc, err = loc.WithSubdir(source.Subdir); err != nil {
			log.Fatal(err)
		}
		if !loc.Direct {
			fmt.Printf("for the getter: %s, the module is in %s\n", loc.PackageSource(), loc.Subdir)
			continue
		}
		report, err := module.DownloadLocation(ctx, client, loc, filepath.Join(dir, source.Module.Name()), module.Options{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("fetched:", report.Module, report.Version)
	}
	// Output:
	// fetched: registry.example.com/acme/private/aws 1.0.0
	// for the getter: git::https://git.example.com/acme/modules.git?ref=v1.0.0, the module is in aws/modules/vpc
}
