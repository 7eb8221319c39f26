package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The newest version that a constraint allows, for the platform that the program names.
func ExampleFind() {
	reg := regtest.New("registry.example.com")
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{"linux_amd64"}})
	}
	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}

	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	need := provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	pkg, err := provider.Find(context.Background(), client, alpha, addrs.MustParseProviderConstraint("~> 1.0"), need)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pkg)
	fmt.Println(pkg.ArchiveName())

	need.Platforms = append(need.Platforms, addrs.MustParsePlatform("plan9_arm"))
	_, err = provider.Find(context.Background(), client, alpha, addrs.ProviderConstraint{}, need)
	fmt.Println(errors.Is(err, provider.ErrNoPlatform))
	// Output:
	// registry.example.com/acme/alpha 1.1.0 linux_amd64
	// terraform-provider-alpha_1.1.0_linux_amd64.zip
	// true
}

// A download with a progress display and the hashes of a lock file. The archive must have one of
// the hashes. The signature is not needed.
func ExampleDownload() {
	reg := regtest.New("registry.example.com")
	release := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64"}, Size: 100_000})
	locked := []checksum.Hash{release.H1("linux_amd64"), release.ZH("linux_amd64")}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
	pkg, err := client.ProviderPackage(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"),
		addrs.MustParseVersion("1.2.0"), addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := provider.Download(ctx, client, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.Options{
		Policy: verify.Policy{Accept: locked},
		Progress: func(e provider.Event) {
			if e.Kind == provider.EventVerified {
				fmt.Println("verified", e.Provider, e.Version, e.Bytes == e.Total)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("trust:", report.Trust)
	// Output:
	// verified registry.example.com/acme/alpha 1.2.0 true
	// trust: accepted
}

// The newest version that a constraint allows may not support the platform or the protocol.
func ExampleVersions_NewestFor() {
	linux, arm := addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("linux_arm64")
	versions := &provider.Versions{
		Provider: addrs.MustParseProvider("registry.example.com/acme/alpha"),
		List: []provider.Release{
			{Version: addrs.MustParseVersion("2.0.0"), Protocols: []string{"7.0"}, Platforms: []addrs.Platform{linux, arm}},
			{Version: addrs.MustParseVersion("1.1.0"), Protocols: []string{"5.0"}, Platforms: []addrs.Platform{linux}},
			{Version: addrs.MustParseVersion("1.0.0"), Protocols: []string{"5.0"}, Platforms: []addrs.Platform{linux, arm}},
		},
	}
	need := provider.Need{Platforms: []addrs.Platform{arm}}

	version, err := versions.NewestFor(addrs.ProviderConstraint{}, need)
	fmt.Println(version, err)

	_, err = versions.NewestFor(addrs.MustParseProviderConstraint(">= 2"), need)
	fmt.Println(errors.Is(err, provider.ErrProtocol))
	fmt.Println(err)
	// Output:
	// 1.0.0 <nil>
	// true
	// choose a version of registry.example.com/acme/alpha: 2.0.0 supports plugin protocol 7.0, want >= 5.0.0, < 7.0.0; the older 1.0.0 would fit
}

// A Package is plain data: one program can find it, another one can fetch it.
func ExamplePackage_json() {
	pkg := &provider.Package{
		Provider: addrs.MustParseProvider("hashicorp/random"),
		Version:  addrs.MustParseVersion("3.6.0"),
		Platform: addrs.MustParsePlatform("linux_amd64"),
		URL:      "https://files.example.com/random.zip",
	}
	data, err := json.Marshal(pkg)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(data))
	// Output:
	// {"provider":"registry.opentofu.org/hashicorp/random","version":"3.6.0","platform":"linux_amd64","url":"https://files.example.com/random.zip"}
}
