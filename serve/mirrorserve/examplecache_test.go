package mirrorserve_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// Run a cache server. Downloaded packages are available without the registry.
func ExampleCache() {
	ctx, dir := context.Background(), exampleDir()
	defer os.RemoveAll(dir)
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0"})
	// Without HTTP it uses the real registries. Without retries clients wait less for a fault.
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}

	mirror, err := mirrordir.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	cache := &mirrorserve.Cache{Source: registry, Mirror: mirror}
	server := httptest.NewTLSServer(http.StripPrefix("/providers", &mirrorserve.Handler{Source: cache}))
	defer server.Close()

	client := &mirrorclient.Client{BaseURL: server.URL + "/providers/", Transport: &transport.Settings{HTTP: server.Client()}}
	p, need := addrs.MustParseProvider("registry.example.com/acme/alpha"), provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	for _, state := range []string{"up", "down"} {
		if state == "down" {
			reg.AddFault(regtest.Fault{Drop: true})
		}
		pkg, err := provider.Find(ctx, client, p, addrs.ProviderConstraint{}, need)
		if err != nil {
			log.Fatal(err)
		}
		report, err := provider.Download(ctx, client, pkg, filepath.Join(dir, "copy.zip"), provider.DownloadOptions{Policy: verify.Policy{AllowUnsigned: true}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("the registry is %s: %s, %s\n", state, pkg.Version, report.Trust)
	}
	// Output:
	// the registry is up: 1.0.0, checked
	// the registry is down: 1.0.0, checked
}
