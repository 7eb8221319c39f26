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
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/transport"
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
		log.Fatal(err)
	}
	config.HTTP = exampleRegistry() // only in this example, for https://oci.example.com
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	oci.Configure(config)
	installer := config.Installer(dir)
	installer.Platform = addrs.MustParsePlatform("linux_amd64")
	required := install.Requirements{
		addrs.MustParseProvider("acme/alpha"): addrs.MustParseProviderConstraint("~> 1.0"),
	}
	result, err := installer.Ensure(context.Background(), required, nil)
	if err != nil {
		log.Fatal(err)
	}
	for entry := range result.Lock.All() {
		fmt.Println(entry.Provider, entry.Version)
	}
	// Output:
	// registry.opentofu.org/acme/alpha 1.2.0
}

// Fetch a module from a repository.
func ExampleClient_FetchModule() {
	client := &oci.Client{Transport: &transport.Settings{HTTP: exampleRegistry()}} // only in this example
	loc, err := module.ParseLocation("oci://oci.example.com/modules/vpc?tag=1.0.0")
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := module.Download(context.Background(), nil, module.Request{Location: loc, Dir: filepath.Join(dir, "vpc")}, module.Options{Fetcher: client})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Location)
	fmt.Println(report.H1)
	// Output:
	// oci://oci.example.com/modules/vpc?tag=1.0.0
	// h1:c11LIej/pPvoamPTtQQ8AU8xd27Pyu0CuemUChywN+k=
}

// Make an OCI mirror of a mirror in a directory, with a template as in "tofu providers lock -oci-mirror".
func ExampleClient_PushProvider() {
	dir, remove := exampleMirror() // as "tofu providers mirror" fills it
	defer remove()
	mirror, err := mirrordir.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	config := &cliconfig.Config{HTTP: exampleRegistry()} // only in this example; see cliconfig.Load
	ctx := context.Background()
	if err := fillOCIMirror(ctx, config, mirror); err != nil {
		log.Fatal(err)
	}
	versions, err := oci.Configure(config).Mirror(func(addrs.Provider) string { return "oci.example.com/mirror/acme/beta" }).
		ProviderVersions(ctx, addrs.MustParseProvider("acme/beta"))
	fmt.Println(versions, err)
	// Output:
	// registry.opentofu.org/acme/beta: 2.0.0 <nil>
}

// exampleMirror returns a directory with a provider.
func exampleMirror() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	archive := filepath.Join(dir, "registry.opentofu.org", "acme", "beta", "terraform-provider-beta_2.0.0_linux_amd64.zip")
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(archive, zipOf(map[string]string{"terraform-provider-beta_v2.0.0": "#!"}), 0o644); err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// Publish a module from a directory.
func ExampleClient_PushModule() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("# a subnet\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	source, err := module.ParseLocation(dir) // or "git::https://example.com/subnet.git?ref=v1.0.0", with Options.Git
	if err != nil {
		log.Fatal(err)
	}
	target, err := module.ParseLocation("oci://oci.example.com/modules/subnet?tag=1.0.0")
	if err != nil {
		log.Fatal(err)
	}
	client := &oci.Client{Transport: &transport.Settings{HTTP: exampleRegistry()}} // only in this example; see Configure
	pushed, err := client.PushModule(context.Background(), target, nil, module.Request{Location: source}, module.Options{AllowLocal: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pushed.URL, pushed.Digest != "") // a source that names this content
	// Output:
	// oci://oci.example.com/modules/subnet true
}

// exampleRegistry returns a client that sends all requests to a registry with a provider and a module.
func exampleRegistry() *http.Client {
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	send := func(method, path, contentType, content string) {
		r := httptest.NewRequest(method, "/v2/"+path, strings.NewReader(content))
		r.Header.Set("Content-Type", contentType)
		store.ServeHTTP(httptest.NewRecorder(), r)
	}
	put := func(repository, tag, contentType string, manifest any) ocispec.Descriptor {
		data, _ := json.Marshal(manifest)
		d := digest.FromBytes(data)
		if tag == "" {
			tag = d.String()
		}
		send("PUT", repository+"/manifests/"+tag, contentType, string(data))
		return ocispec.Descriptor{MediaType: contentType, Digest: d, Size: int64(len(data))}
	}
	upload := func(repository, name, content string) ocispec.Descriptor {
		archive := string(zipOf(map[string]string{name: content}))
		layer := ocispec.Descriptor{MediaType: "archive/zip", Digest: digest.FromString(archive), Size: int64(len(archive))}
		send("POST", repository+"/blobs/uploads/?digest="+layer.Digest.String(), "application/octet-stream", archive)
		return layer
	}
	const alpha, vpc = "mirror/acme/alpha", "modules/vpc"
	manifest := put(alpha, "", ocispec.MediaTypeImageManifest, image(typeTarget, upload(alpha, "terraform-provider-alpha_v1.2.0", "#!")))
	put(alpha, "1.2.0", ocispec.MediaTypeImageIndex, index(target(manifest, "linux_amd64")))
	put(vpc, "1.0.0", ocispec.MediaTypeImageManifest, image(typeModule, upload(vpc, "main.tf", "# A network.\n")))
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		store.ServeHTTP(w, r)
		resp := w.Result()
		resp.Request = r
		return resp, nil
	})}
}
