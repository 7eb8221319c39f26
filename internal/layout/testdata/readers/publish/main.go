// Publish publishes what goreleaser has made as files of a registry, and checks the result.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regcheck"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// release writes what goreleaser makes into dist, and returns the key.
func release(dist string) verify.Key {
	reg := regtest.New("registry.example.com")
	platforms := []string{"darwin_arm64", "linux_amd64"}
	rel := reg.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.0.0", Platforms: platforms})
	sums := filepath.Join(dist, "terraform-provider-demo_1.0.0_SHA256SUMS")
	must(os.WriteFile(sums, rel.Sums(), 0o644))
	must(os.WriteFile(sums+".sig", rel.Signature(), 0o644))
	for _, on := range platforms {
		data, err := io.ReadAll(rel.Archive(on))
		must(err)
		must(os.WriteFile(filepath.Join(dist, rel.Filename(on)), data, 0o644))
	}
	return reg.Key().Public()
}

func main() {
	ctx := context.Background()
	root, err := os.MkdirTemp("", "publish")
	must(err)
	defer os.RemoveAll(root)
	dist, site := filepath.Join(root, "dist"), filepath.Join(root, "site")
	must(os.Mkdir(dist, 0o755))
	must(os.Mkdir(site, 0o755))
	key := release(dist)

	registry := &regdir.Registry{Store: &storage.Dir{Path: site}, Host: svchost.MustParse("registry.example.com")}
	found, err := registry.Releases(ctx, dist, "acme")
	must(err)
	for _, f := range found {
		if len(f.Missing) > 0 {
			log.Fatal("missing: ", f.Missing)
		}
		f.Release.Keys = []verify.Key{key}
		published, err := registry.PublishProvider(ctx, f.Release)
		must(err)
		for _, p := range published {
			fmt.Println("published", f.Provider, f.Version, p.Platform)
		}
	}
	result, err := registry.Check(ctx, regdir.CheckOptions{Archives: true})
	must(err)
	fmt.Println("versions", result.Versions, result.OK(), result.Problems)

	server := httptest.NewTLSServer(http.FileServer(http.Dir(site)))
	defer server.Close()
	for _, f := range regcheck.Examine(ctx, server.URL, regcheck.Options{Client: server.Client(), Provider: "acme/demo"}) {
		fmt.Println(f.Check, f.Level) // and f.Text
	}
}

// Output:
// published registry.example.com/acme/demo 1.0.0 darwin_arm64
// published registry.example.com/acme/demo 1.0.0 linux_amd64
// versions 1 true []
// provider versions advice
// provider package advice
// provider package advice
