package regtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// latest is the code to test: it looks for a newer version of a provider. The HTTP client is a
// parameter, so that a test can pass one.
func latest(ctx context.Context, client *http.Client, address string) (string, error) {
	registry := &regclient.Client{Transport: &transport.Client{HTTP: client}}
	versions, err := registry.ProviderVersions(ctx, addrs.MustParseProvider(address))
	if err != nil {
		return "", err
	}
	return versions.List[0].Version.String(), nil
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
	fmt.Println("not found:", errors.Is(err, provider.ErrNotFound))

	reg.Reset()
	reg.Require("secret", regtest.Metadata)
	_, err = latest(ctx, reg.Client(), "registry.example.com/acme/alpha")
	fmt.Println("unauthorized:", errors.Is(err, provider.ErrUnauthorized))
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
