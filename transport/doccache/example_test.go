package doccache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/doccache"
)

// A bot that runs every few minutes asks the registry once an hour, and works for another day if
// the registry is down.
func Example() {
	ctx := context.Background()
	reg := regtest.New("registry.example.com") // instead of the network
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	dir, err := os.MkdirTemp("", "documents")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	for run := range 3 { // each run may be another process
		documents := &doccache.Transport{
			Base:         reg,
			Dir:          dir, // a real program uses os.UserCacheDir
			FreshFor:     time.Hour,
			StaleIfError: 24 * time.Hour,
		}
		registry := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: documents}}}
		versions, err := registry.ProviderVersions(ctx, alpha)
		if err != nil {
			log.Fatal(err)
		}
		s := documents.Stats()
		fmt.Printf("run %d: %v, %d fetched, %d cached\n", run, versions.Versions[0].Version, s.Misses, s.Hits)
	}
	// Output:
	// run 0: 1.2.0, 2 fetched, 0 cached
	// run 1: 1.2.0, 0 fetched, 2 cached
	// run 2: 1.2.0, 0 fetched, 2 cached
}

// Offline uses only cached documents.
func ExampleTransport_offline() {
	dir, err := os.MkdirTemp("", "documents") // a real program uses the directory of earlier runs
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	documents := &doccache.Transport{Dir: dir, Offline: true}
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: documents}}}
	_, err = registry.ProviderVersions(context.Background(), addrs.MustParseProvider("registry.example.com/acme/alpha"))
	fmt.Println(errors.Is(err, failure.ErrOffline))
	// Output: true
}
