package regclient_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// From a name to a verified archive. The registry of this example is in memory. The zero Client
// asks the host of the address.
func Example() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "2.0.0"})

	ctx := context.Background()
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	versions, err := client.ProviderVersions(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"))
	if err != nil {
		log.Fatal(err)
	}
	version, err := versions.Newest(addrs.MustParseProviderConstraint("~> 1.0"))
	if err != nil {
		log.Fatal(err)
	}
	pkg, err := client.ProviderPackage(ctx, versions.Provider, version, addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := provider.Download(ctx, client, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pkg.ArchiveName())
	fmt.Println("trust:", report.Trust)
	fmt.Println("signed by the registry's key:", report.SignedBy.Fingerprint == reg.Key().Fingerprint())
	// Output:
	// terraform-provider-alpha_1.2.0_linux_amd64.zip
	// trust: signed
	// signed by the registry's key: true
}

// The token of the host in the address is sent. Programs usually take tokens from the environment,
// as the CLI does, with auth.Environ(os.Environ()).
func ExampleClient_credentials() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	reg.Require("s3cr3t", regtest.Versions|regtest.Package)

	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	_, err := (&regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}).ProviderVersions(context.Background(), alpha)
	var failed *failure.RequestError
	if errors.Is(err, failure.ErrUnauthorized) && errors.As(err, &failed) {
		fmt.Println("unauthorized, token sent:", failed.HadToken)
	}

	client := &regclient.Client{
		Transport: &transport.Settings{HTTP: reg.Client(), Credentials: auth.Environ([]string{"TF_TOKEN_registry_example_com=s3cr3t"})},
	}
	versions, err := client.ProviderVersions(context.Background(), alpha)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(versions.Versions[0].Version)
	// Output:
	// unauthorized, token sent: false
	// 1.2.0
}

// A registry that serves its archives itself requires its token for them. Here the token may be sent
// to the host of the registry only.
func ExampleClient_packageCredentials() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64"}})
	reg.Require("s3cr3t", 0)

	client := &regclient.Client{
		Transport: &transport.Settings{
			HTTP:        reg.Client(),
			Credentials: auth.Environ([]string{"TF_TOKEN_registry_example_com=s3cr3t"}),
			PackageCredentials: func(host svchost.Hostname, pkg *url.URL) bool {
				return pkg.Host == host.String()
			},
		},
	}
	ctx := context.Background()
	pkg, err := client.ProviderPackage(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"),
		addrs.MustParseVersion("1.2.0"), addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		log.Fatal(err)
	}
	evidence, err := client.Evidence(ctx, pkg)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(evidence.Signature) > 0)
	// Output:
	// true
}

// headers adds a header to the requests for one host.
type headers struct {
	host, name, value string
	next              http.RoundTripper
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" && r.URL.Host == h.host {
		r = r.Clone(r.Context())
		r.Header.Set(h.name, h.value)
	}
	return h.next.RoundTrip(r)
}

// A RoundTripper adds headers for one host. It sees each request, also after a redirect, so an object
// store does not get the header.
func Example_headers() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Origin: "https://files.example.net"})

	adding := headers{"registry.example.com", "X-Terraform-Version", "1.12.6", reg}
	client := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: adding}}}
	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	pkg, err := client.ProviderPackage(context.Background(), alpha, addrs.MustParseVersion("1.2.0"), addrs.CurrentPlatform())
	if err == nil {
		_, err = client.Evidence(context.Background(), pkg)
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range reg.Requests() {
		fmt.Printf("%s %q\n", r.Host, r.Header.Get("X-Terraform-Version"))
	}
	// Output:
	// registry.example.com "1.12.6"
	// registry.example.com "1.12.6"
	// files.example.net ""
	// files.example.net ""
}

// A program states the URL of a registry, without discovery. AllowHTTP of the transport permits http, for
// a registry on this machine or in a test.
func ExampleClient_fixedURL() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})

	host := svchost.MustParse("registry.example.com")
	client := &regclient.Client{
		Transport: &transport.Settings{HTTP: reg.Client(), AllowHTTP: true},
		Hosts:     disco.NewHosts(host, map[disco.Service]any{disco.ProvidersV1: "http://registry.example.com/v1/providers/"}),
	}
	versions, err := client.ProviderVersions(context.Background(), addrs.MustParseProvider("registry.example.com/acme/alpha"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(versions.Versions[0].Version)
	for _, r := range reg.Requests() {
		fmt.Println(r.URL())
	}
	// Output:
	// 1.2.0
	// http://registry.example.com/v1/providers/acme/alpha/versions
}
