package hashstore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/hashstore"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// The hashes of all platforms, twice. The second call downloads no archive.
func ExampleDir() {
	registry := regtest.New("registry.example.com")
	registry.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.2.3"})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}

	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store := &hashstore.Dir{Path: filepath.Join(dir, "hashes")}

	demo, version := addrs.MustParseProvider("registry.example.com/acme/demo"), addrs.MustParseVersion("1.2.3")
	platforms := []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")}
	for range 2 {
		registry.Reset()
		reports, err := provider.Hashes(context.Background(), client, demo, version, platforms, provider.HashOptions{Store: store})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(reports), "platforms,", registry.Count(regtest.Archive), "downloads")
	}
	removed, err := store.Prune(context.Background(), time.Now().AddDate(0, -3, 0)) // not used for three months
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(removed, "removed")
	// Output:
	// 2 platforms, 2 downloads
	// 2 platforms, 0 downloads
	// 0 removed
}
