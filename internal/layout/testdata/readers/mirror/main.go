// Mirror fills a mirror in a bucket, serves it to both CLIs, and reads it back.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

func run(ctx context.Context) error {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	src := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")

	mirror := &mirrordir.Mirror{Store: &storage.Memory{}} // in place of a bucket
	added, err := mirror.Add(ctx, src, []mirrordir.Want{{Provider: alpha, Version: addrs.MustParseVersion("1.2.0")}}, mirrordir.AddOptions{})
	for _, a := range added {
		fmt.Println("added", a.Provider, a.Version, a.Platform)
	}
	if err != nil {
		return err
	}
	checked, err := mirror.Check(ctx, mirrordir.CheckOptions{})
	if err != nil {
		return err
	}
	fmt.Println("check", checked.OK(), checked.Archives, checked.Problems)

	server := httptest.NewTLSServer(&mirrorserve.Handler{Source: mirror, Archive: mirror.ArchiveLink})
	defer server.Close()
	client := &mirrorclient.Client{BaseURL: server.URL, Transport: &transport.Settings{HTTP: server.Client()}}
	pkg, err := provider.Find(ctx, client, alpha, addrs.ProviderConstraint{}, provider.Need{})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mirror")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o := provider.DownloadOptions{Policy: verify.Policy{AllowUnsigned: true}}
	report, err := provider.Download(ctx, client, pkg, filepath.Join(dir, pkg.ArchiveName()), o)
	fmt.Println(pkg.Provider, pkg.Version, report)
	return err
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// Output:
// added registry.example.com/acme/alpha 1.2.0 darwin_amd64
// added registry.example.com/acme/alpha 1.2.0 darwin_arm64
// added registry.example.com/acme/alpha 1.2.0 linux_amd64
// added registry.example.com/acme/alpha 1.2.0 linux_arm64
// added registry.example.com/acme/alpha 1.2.0 windows_amd64
// check true 5 []
// registry.example.com/acme/alpha 1.2.0 checked against what the source states
