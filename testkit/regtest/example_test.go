package regtest_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// The requests show how often a download was resumed, and how many bytes were sent.
func ExampleFault() {
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Size: 1_000_000})
	// The first answer breaks off, and so does the second, which is the rest.
	reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, First: 2, Break: "cut", After: 300_000})

	ctx := context.Background()
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	loc, err := client.ModuleLocation(ctx, addrs.MustParseModule("registry.example.com/acme/network/aws"), addrs.MustParseModuleVersion("1.0.0"))
	if err != nil {
		log.Fatal(err)
	}
	body, err := client.OpenModule(ctx, loc)
	if err != nil {
		log.Fatal(err)
	}
	defer body.Close()
	n, err := io.Copy(io.Discard, body)
	var sent int64
	for _, q := range reg.Requests() {
		if q.Kind == regtest.ModulePackage {
			fmt.Printf("%d %q\n", q.Status, q.Range)
			sent += q.Sent
		}
	}
	fmt.Println("complete:", err == nil, "- bytes sent twice:", sent-n)
	// Output:
	// 200 ""
	// 206 "bytes=300000-"
	// 206 "bytes=600000-"
	// complete: true - bytes sent twice: 0
}

// The requests show which hosts received a token.
func ExampleRegistry_Requests() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	reg.Require("secret", regtest.Metadata)
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Redirect: "https://files.example.com"})

	req, err := http.NewRequest("GET", "https://registry.example.com/v1/providers/acme/alpha/versions", nil)
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	resp, err := reg.Client().Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	for _, q := range reg.Requests() {
		fmt.Printf("%s saw %q\n", q.Host, q.Authorization)
	}
	// Output:
	// registry.example.com saw "Bearer secret"
	// files.example.com saw ""
}

// AddModule adds a module with its package. URLs selects the form of its location.
func ExampleRegistry_AddModule() {
	reg := regtest.New("registry.example.com")
	rel := reg.AddModule(regtest.Module{
		Address: "acme/network/aws",
		Version: "2.1.0",
		Files:   map[string]string{"modules/subnet/main.tf": "# no resources\n"},
		Format:  "zip",
		URLs:    "root-relative",
		Subdir:  "modules/subnet",
	})
	resp, err := reg.Client().Get("https://registry.example.com/v1/modules/acme/network/aws/2.1.0/download")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	fmt.Println(resp.Header.Get("X-Terraform-Get"))
	fmt.Println(rel.H1())
	// Output:
	// 204 No Content
	// /packages/registry.example.com/acme/network/aws/2.1.0/network-2.1.0.zip//modules/subnet
	// h1:/875QHUpipr50bVLubdIjoak1Fe9zxt0c2+tus/Nb/M=
}

// The providers are also served as a network mirror.
func ExampleMirror() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}})
	reg.Mirror = regtest.Mirror{URLs: "download", Hashes: []string{"h1"}}

	resp, err := reg.Client().Get(reg.MirrorURL() + "registry.example.com/acme/alpha/1.0.0.json")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(os.Stdout, resp.Body)
	// Output:
	// {"archives":{"linux_amd64":{"url":"download/terraform-provider-alpha_1.0.0_linux_amd64.zip","hashes":["h1:RI5+l13/W7RxGOVY0Ng8TT61CMD0hNnfo3VGRRgw5BA="]}}}
}

// A listening server is for programs that do not accept an HTTP client. For tofu and
// terraform, set SSL_CERT_FILE to a file with CertPEM and use the provider
// "localhost:PORT/acme/alpha".
func ExampleRegistry_ServeTLS() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	srv, err := reg.ServeTLS()
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	resp, err := srv.Client().Get(srv.URL + "/v1/providers/acme/alpha/versions")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Proto, resp.Status)
	// Output:
	// HTTP/2.0 200 OK
}

// A program logs in without a browser and uses the token.
func ExampleLogin() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	reg.Login = &regtest.Login{Token: "of-alice"}
	reg.Require("of-alice", regtest.Metadata)

	ctx, host := context.Background(), svchost.MustParse("registry.example.com")
	client := &login.Client{Transport: &transport.Settings{HTTP: reg.Client()}, Open: reg.Browse}
	result, err := client.Login(ctx, host)
	if err != nil {
		log.Fatal(err)
	}
	tokens := auth.Static(map[svchost.Hostname]auth.Token{host: result.Token})
	token, err := tokens.Token(ctx, host)
	fmt.Println(token.Reveal(), err)
	for _, q := range reg.Requests() {
		fmt.Println(q.Method, q.Host+q.Path, q.Status)
	}
	// Output:
	// of-alice <nil>
	// GET registry.example.com/.well-known/terraform.json 200
	// GET registry.example.com/oauth/authorization 302
	// POST registry.example.com/oauth/token 200
}

// latest is the code to test: it looks for a newer version of a provider. The HTTP client is a
// parameter, so that a test can pass one.
func latest(ctx context.Context, client *http.Client, address string) (string, error) {
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: client}}
	versions, err := registry.ProviderVersions(ctx, addrs.MustParseProvider(address))
	if err != nil {
		return "", err
	}
	return versions.Versions[0].Version.String(), nil
}

// A test fakes a registry: it adds versions, asks for a token, and counts the requests of the tool.
func Example() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.10.0"})

	ctx := context.Background()
	version, err := latest(ctx, reg.Client(), "registry.example.com/acme/alpha")
	fmt.Println(version, err)
	_, err = latest(ctx, reg.Client(), "registry.example.com/acme/beta")
	fmt.Println("not found:", errors.Is(err, failure.ErrNotFound))

	reg.Reset()
	reg.Require("secret", regtest.Metadata)
	_, err = latest(ctx, reg.Client(), "registry.example.com/acme/alpha")
	fmt.Println("unauthorized:", errors.Is(err, failure.ErrUnauthorized))
	for _, q := range reg.Requests() {
		fmt.Println(q)
	}
	// Output:
	// 1.10.0 <nil>
	// not found: true
	// unauthorized: true
	// GET https://registry.example.com/.well-known/terraform.json: 200 (discovery)
	// GET https://registry.example.com/v1/providers/acme/alpha/versions: 401 (versions)
}
