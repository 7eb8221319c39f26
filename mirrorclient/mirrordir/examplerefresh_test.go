package mirrordir_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// Update a mirror: add the newest version of each provider for its platforms.
func ExampleMirror_All() {
	ctx, registry, dir := context.Background(), exampleRegistry(), exampleDir()
	defer os.RemoveAll(dir)
	mirror, err := mirrordir.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	first := []mirrordir.Want{{
		Provider:  addrs.MustParseProvider("registry.example.com/acme/alpha"),
		Version:   addrs.MustParseVersion("1.0.0"),
		Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")},
	}}
	if _, err := mirror.Add(ctx, registry, first, mirrordir.Options{}); err != nil {
		log.Fatal(err)
	}

	var wants []mirrordir.Want
	for held, err := range mirror.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		versions, err := registry.ProviderVersions(ctx, held.Provider)
		if err != nil {
			log.Fatal(err)
		}
		if held.Version, err = versions.Newest(addrs.ProviderConstraint{}); err != nil {
			log.Fatal(err)
		}
		wants = append(wants, held)
	}
	added, err := mirror.Add(ctx, registry, wants, mirrordir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range added {
		fmt.Println(a.Provider, a.Version, a.Platform, "fetched:", a.Fetched)
	}
	// Output: registry.example.com/acme/alpha 1.1.0 linux_amd64 fetched: true
}
