package cliconfig_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// Choose the newest version of a module, by the rules of the CLI and by the rules of the
// library hashicorp/go-version. The program adds its own token for hosts without a token of
// the user.
func Example_newestModuleVersion() {
	registry := regtest.New("registry.example.com")
	registry.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.4.0"})
	registry.AddModule(regtest.Module{Address: "acme/network/aws", Version: "2.0.0-rc.1"})
	registry.Require("xxxxxx", 0)

	config, err := cliconfig.Load(exampleSystem(map[string]string{
		"home/alice/.tofurc": `credentials "other.example.com" { token = "yyyyyy" }`,
	}))
	if err != nil {
		log.Fatal(err)
	}
	config.HTTP = registry.Client()
	ours := auth.MustNewToken("xxxxxx").For(svchost.MustParse("registry.example.com"))
	config.Tokens = func(user auth.Source) auth.Source { return auth.Chain(user, ours) }

	network := addrs.MustParseModule("registry.example.com/acme/network/aws")
	versions, err := config.Registry().ModuleVersions(context.Background(), network)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(versions)
	constraint := addrs.MustParseModuleConstraint(">= 2.0.0-beta")
	_, err = versions.Newest(constraint)
	fmt.Println("CLI:", err)
	newest, err := versions.NewestFunc(func(addrs.Version) bool { return true })
	fmt.Println("any:", newest, err)
	// Output:
	// registry.example.com/acme/network/aws: 2.0.0-rc.1, 1.4.0
	// CLI: choose a version of registry.example.com/acme/network/aws: no version matches ">= 2.0.0-beta", the newest is 1.4.0
	// any: 2.0.0-rc.1 <nil>
}
