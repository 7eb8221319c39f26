package lockfile_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// A scanner looks for newer versions: allowed by the recorded constraint, and the newest
// release.
func ExampleFile_All_scanner() {
	registry := regtest.New("registry.opentofu.org") // instead of the real one
	for _, version := range []string{"3.6.0", "3.7.2", "4.0.0", "4.1.0-rc1"} {
		registry.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: version})
	}
	lock, err := lockfile.Parse([]byte(exampleLock), lockfile.Name) // or Load, from disk
	if err != nil {
		log.Fatal(err)
	}
	client := &regclient.Client{Transport: &transport.Client{HTTP: registry.Client()}}
	for e := range lock.All() {
		versions, err := client.ProviderVersions(context.Background(), e.Provider)
		if err != nil {
			log.Print(err)
			continue
		}
		allowed, err := versions.Newest(e.Constraints)
		if err != nil {
			log.Print(err)
			continue
		}
		newest, err := versions.Newest(addrs.ProviderConstraint{})
		if err != nil {
			log.Print(err)
			continue
		}
		fmt.Printf("%s is locked at %s; %s allows %s, the newest is %s\n", e.Provider, e.Version, e.Constraints, allowed, newest)
	}
	// Output:
	// registry.opentofu.org/hashicorp/random is locked at 3.6.0; ~> 3.6 allows 3.7.2, the newest is 4.0.0
}

// A lock file for Terraform has another header.
func ExampleFile_Header() {
	lock := &lockfile.File{Header: lockfile.HeaderTerraform}
	err := lock.Set(lockfile.Entry{
		Provider: addrs.MustParseProvider("registry.terraform.io/hashicorp/random"),
		Version:  addrs.MustParseVersion("3.6.0"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(lock.Bytes()))
	// Output:
	// # This file is maintained automatically by "terraform init".
	// # Manual edits may be lost in future updates.
	//
	// provider "registry.terraform.io/hashicorp/random" {
	//   version = "3.6.0"
	// }
}
