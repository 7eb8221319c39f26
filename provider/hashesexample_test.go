package provider_test

import (
	"context"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A lock file for all platforms of a version. With downloads, every h1 is computed. Without
// downloads, the h1 are statements of the registry that no signature covers.
func ExampleHashes() {
	registry := regtest.New("registry.opentofu.org")
	registry.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.2.3", PackageHashes: true})
	client := &regclient.Client{Transport: &transport.Client{HTTP: registry.Client()}}

	demo := addrs.MustParseProvider("acme/demo")
	version := addrs.MustParseVersion("1.2.3")
	for _, o := range []provider.HashOptions{
		{},
		{Stated: true, NoDownload: true},
	} {
		reports, err := provider.Hashes(context.Background(), client, demo, version, nil, o)
		if err != nil { // beside it there are the reports of the other platforms
			fmt.Println(err)
		}
		var lock lockfile.File
		computed := 0
		for _, report := range reports {
			computed += len(report.Local)
			if err := lock.Merge(demo, version, addrs.ProviderConstraint{}, report); err != nil {
				fmt.Println(err)
			}
		}
		entry, _ := lock.Get(demo)
		fmt.Println(len(reports), "platforms,", len(entry.Hashes), "hashes,", computed, "of them computed")
	}
	// Output:
	// 5 platforms, 10 hashes, 10 of them computed
	// 5 platforms, 10 hashes, 0 of them computed
}

// A lock file has only linux and gets another platform. Accept would refuse all packages for this
// platform, because none of its hashes is locked. SameRelease accepts the platform if a signed
// SHA256SUMS document also lists the locked package. Only computed hashes are recorded.
func ExampleHashes_addPlatform() {
	registry := regtest.New("registry.example.com")
	release := registry.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.2.3"})
	client := &regclient.Client{Transport: &transport.Client{HTTP: registry.Client()}}

	demo := addrs.MustParseProvider("registry.example.com/acme/demo")
	version := addrs.MustParseVersion("1.2.3")
	var lock lockfile.File
	locked := &verify.Report{Local: []checksum.Hash{release.ZH("linux_amd64"), release.H1("linux_amd64")}}
	if err := lock.Merge(demo, version, addrs.ProviderConstraint{}, locked); err != nil {
		fmt.Println(err)
		return
	}
	darwin := addrs.MustParsePlatform("darwin_arm64")
	var o provider.HashOptions
	if lock.Covers(demo, version) {
		o.Policy.SameRelease = lock.Accept(demo, version)
	}
	reports, err := provider.Hashes(context.Background(), client, demo, version, []addrs.Platform{darwin}, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	computed := &verify.Report{Local: reports[darwin].Local}
	if err := lock.Merge(demo, version, addrs.ProviderConstraint{}, computed); err != nil {
		fmt.Println(err)
	}
	entry, _ := lock.Get(demo)
	fmt.Println(len(entry.Hashes), "hashes,", reports[darwin].Trust)
	// Output:
	// 4 hashes, signed
}
