package provider_test

import (
	"context"
	"fmt"
	"os"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// The entry of a lock file for three platforms, from a registry that states the hashes of
// all of them and a caller who takes its word for what is not signed.
func ExampleHashes() {
	registry := regtest.New("registry.example.com")
	registry.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.2.3", PackageHashes: true})
	client := &regclient.Client{HTTP: registry.Client()}

	ctx := context.Background()
	demo := addrs.MustParseProvider("registry.example.com/acme/demo")
	constraint := addrs.MustParseProviderConstraint("~> 1.2")
	versions, err := client.ProviderVersions(ctx, demo)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	version, err := versions.Newest(constraint)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	on := []addrs.Platform{
		addrs.MustParsePlatform("darwin_arm64"), addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("windows_amd64"),
	}
	o := provider.HashOptions{Options: provider.Options{Policy: verify.Policy{RecordStated: true}}}
	reports, err := provider.Hashes(ctx, client, demo, version, on, o)
	// Beside an error there are the reports of the other platforms.
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	var lock lockfile.File
	for _, platform := range on {
		if report, ok := reports[platform]; ok {
			fmt.Printf("%s: %s, %d computed, %d claimed\n", platform, report.Trust, len(report.Local), len(report.Claimed))
			if err := lock.Merge(demo, version, constraint, report); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
	entry, _ := lock.Get(demo)
	fmt.Println(entry.Version, entry.Constraints, len(entry.Hashes), "hashes")
	// Output:
	// darwin_arm64: signed, 0 computed, 1 claimed
	// linux_amd64: signed, 0 computed, 1 claimed
	// windows_amd64: signed, 0 computed, 1 claimed
	// 1.2.3 ~> 1.2 8 hashes
}
