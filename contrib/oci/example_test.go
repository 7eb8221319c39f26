package oci_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/contrib/oci"
)

// Install a provider from the mirror of a CLI configuration.
func Example() {
	config, err := cliconfig.Parse(cliconfig.System{}, "example.tfrc", []byte(`
provider_installation {
  oci_mirror {
    repository_template = "oci.example.com/mirror/${namespace}/${type}"
    include             = ["registry.opentofu.org/*/*"]
  }
}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	config.HTTP = exampleRegistry() // only in this example, for https://oci.example.com
	oci.Configure(config)

	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	installer := config.Installer(dir)
	installer.Platform = addrs.MustParsePlatform("linux_amd64")
	required := map[addrs.Provider]addrs.ProviderConstraint{
		addrs.MustParseProvider("acme/alpha"): addrs.MustParseProviderConstraint("~> 1.0"),
	}
	result, err := installer.Ensure(context.Background(), required, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for entry := range result.Lock.All() {
		fmt.Println(entry.Provider, entry.Version)
	}
	// Output:
	// registry.opentofu.org/acme/alpha 1.2.0
}

// exampleRegistry returns a client that sends all requests to a registry with one provider.
func exampleRegistry() *http.Client {
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	send := func(method, path, contentType, content string) {
		r := httptest.NewRequest(method, "/v2/mirror/acme/alpha"+path, strings.NewReader(content))
		r.Header.Set("Content-Type", contentType)
		store.ServeHTTP(httptest.NewRecorder(), r)
	}
	put := func(tag, contentType string, manifest any) ocispec.Descriptor {
		data, _ := json.Marshal(manifest)
		d := digest.FromBytes(data)
		if tag == "" {
			tag = d.String()
		}
		send("PUT", "/manifests/"+tag, contentType, string(data))
		return ocispec.Descriptor{MediaType: contentType, Digest: d, Size: int64(len(data))}
	}
	archive := string(zipOf(map[string]string{"terraform-provider-alpha_v1.2.0": "#!"}))
	layer := ocispec.Descriptor{MediaType: "archive/zip", Digest: digest.FromString(archive), Size: int64(len(archive))}
	send("POST", "/blobs/uploads/?digest="+layer.Digest.String(), "application/octet-stream", archive)
	manifest := put("", ocispec.MediaTypeImageManifest, image(typeTarget, layer))
	put("1.2.0", ocispec.MediaTypeImageIndex, index(target(manifest, "linux_amd64")))
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		store.ServeHTTP(w, r)
		resp := w.Result()
		resp.Request = r
		return resp, nil
	})}
}
