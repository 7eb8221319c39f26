package lockfile_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

const exampleLock = `# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/random" {
  version     = "3.6.0"
  constraints = "~> 3.6"
  hashes = [
    "h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=",
    "zh:03360ed3ecd31e8c5dac9c95fe0858be50f3e9a0d0c654b5e504109c2159287d",
  ]
}
`

// The hashes of a lock file become part of a policy. A version that is not locked must be
// signed.
func Example() {
	lock, err := lockfile.Parse([]byte(exampleLock), lockfile.Name) // or Load, from disk
	if err != nil {
		log.Fatal(err)
	}
	random := addrs.MustParseProvider("hashicorp/random")
	for _, version := range []string{"3.6.0", "3.6.1"} {
		v := addrs.MustParseVersion(version)
		var policy verify.Policy
		if lock.Covers(random, v) {
			policy.Accept = lock.Accept(random, v)
		}
		fmt.Printf("%s: %d accepted hashes, evidence needed: %v\n", v, len(policy.Accept.Hashes()), policy.NeedsEvidence())
	}
	// Output:
	// 3.6.0: 2 accepted hashes, evidence needed: false
	// 3.6.1: 0 accepted hashes, evidence needed: true
}

// Merge records the hashes of a report.
func ExampleFile_Merge() {
	lock := &lockfile.File{}  // or Load, from disk
	report := &verify.Report{ // comes from provider.Download or verify.Policy
		Local: []checksum.Hash{checksum.MustParseHash("h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=")},
	}
	err := lock.Merge(
		addrs.MustParseProvider("hashicorp/random"),
		addrs.MustParseVersion("3.6.0"),
		addrs.MustParseProviderConstraint("~> 3.6"),
		report.Recordable(),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(lock.Bytes())) // or Save, to disk
	// Output:
	// # This file is maintained automatically by "tofu init".
	// # Manual edits may be lost in future updates.
	//
	// provider "registry.opentofu.org/hashicorp/random" {
	//   version     = "3.6.0"
	//   constraints = "~> 3.6"
	//   hashes = [
	//     "h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=",
	//   ]
	// }
}

// Errors have positions.
func ExampleParse_problems() {
	_, err := lockfile.Parse([]byte(`
provider "hashicorp/random" {
  version = "3.6"
  hashes  = ["h1:"]
}
`), lockfile.Name)
	fmt.Println(err)
	// Output:
	// .terraform.lock.hcl:2:10: address "hashicorp/random" must be written "registry.opentofu.org/hashicorp/random"
	// .terraform.lock.hcl:3:13: version "3.6" must be written "3.6.0"
	// .terraform.lock.hcl:4:14: hash "h1:": hash has no value
}

// ParseLenient keeps everything outside of modified entries. Merge adds hashes that the caller has.
func ExampleParseLenient() {
	lock, err := lockfile.ParseLenient([]byte(`# 3.6.1 is broken on Windows.
provider "registry.opentofu.org/hashicorp/random" {
  version = "3.6.0"
  hashes = [
    "zh:03360ed3ecd31e8c5dac9c95fe0858be50f3e9a0d0c654b5e504109c2159287d",
  ]
}
`), lockfile.Name)
	if err != nil {
		log.Fatal(err)
	}
	random, _ := lock.Get(addrs.MustParseProvider("hashicorp/random"))
	known := []checksum.Hash{checksum.MustParseHash("h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=")}
	if err := lock.Merge(random.Provider, random.Version, random.Constraints, known); err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(lock.Bytes()))
	// Output:
	// # 3.6.1 is broken on Windows.
	// provider "registry.opentofu.org/hashicorp/random" {
	//   version = "3.6.0"
	//   hashes = [
	//     "h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=",
	//     "zh:03360ed3ecd31e8c5dac9c95fe0858be50f3e9a0d0c654b5e504109c2159287d",
	//   ]
	// }
}

// Migrate keeps the versions when a project changes from Terraform to OpenTofu.
func ExampleFile_Migrate() {
	lock, err := lockfile.Parse([]byte(`provider "registry.terraform.io/hashicorp/random" {
  version = "3.6.0"
}
`), lockfile.Name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lock.Migrate())
	// Output:
	// [registry.opentofu.org/hashicorp/random]
}

// A scanner looks for newer versions: allowed by the recorded constraint, and the newest
// release.
func ExampleFile_All() {
	registry := regtest.New("registry.opentofu.org") // instead of the real one
	for _, version := range []string{"3.6.0", "3.7.2", "4.0.0", "4.1.0-rc1"} {
		registry.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: version})
	}
	lock, err := lockfile.Parse([]byte(exampleLock), lockfile.Name) // or Load, from disk
	if err != nil {
		log.Fatal(err)
	}
	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
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

// The header of a new file for Terraform, and a file without a header.
func ExampleFile_Header() {
	entry := lockfile.Entry{
		Provider: addrs.MustParseProvider("registry.terraform.io/hashicorp/random"),
		Version:  addrs.MustParseVersion("3.6.0"),
	}
	for _, header := range []string{lockfile.HeaderTerraform, lockfile.HeaderNone} {
		lock := &lockfile.File{Header: header}
		if err := lock.Set(entry); err != nil {
			log.Fatal(err)
		}
		fmt.Print(string(lock.Bytes()))
	}
	// Output:
	// # This file is maintained automatically by "terraform init".
	// # Manual edits may be lost in future updates.
	//
	// provider "registry.terraform.io/hashicorp/random" {
	//   version = "3.6.0"
	// }
	// provider "registry.terraform.io/hashicorp/random" {
	//   version = "3.6.0"
	// }
}

// A program that removes a provider keeps what it does not understand, and says so.
func ExampleFile_Delete() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	lock, err := lockfile.ParseLenient([]byte(exampleLock+"\nmodule \"network\" {\n}\n"), lockfile.Name)
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range lock.Warnings() {
		fmt.Println(w)
	}
	random, version := addrs.MustParseProvider("hashicorp/random"), addrs.MustParseVersion("3.6.0")
	fmt.Println("written by OpenTofu:", lock.Header == lockfile.HeaderOpenTofu)
	fmt.Println("locks 3.6.0:", lock.Locks(random, version)) // Locks suits Permit of cooldown.Providers
	fmt.Println("was locked:", lock.Delete(random))
	if err := lock.Save(filepath.Join(dir, lockfile.Name)); err != nil { // or call UpdateLenient for all this
		log.Fatal(err)
	}
	// Output:
	// .terraform.lock.hcl:13:1: locks for modules are ignored, as in the CLI
	// written by OpenTofu: true
	// locks 3.6.0: true
	// was locked: true
}
