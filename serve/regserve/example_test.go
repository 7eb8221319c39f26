package regserve_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// This registry serves a part of another registry.
func Example() {
	upstream := regtest.New("registry.example.com")
	upstream.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: []string{"linux_amd64"}})
	upstream.AddProvider(regtest.Provider{Address: "other/beta", Version: "1.0.0", Platforms: []string{"linux_amd64"}})

	// In programs the client needs no HTTP field.
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: upstream.Client()}}
	acme := provider.MustParsePattern("registry.example.com/acme/*")
	server := httptest.NewTLSServer(&regserve.Handler{
		Providers: &provider.Multi{Sources: []provider.NamedSource{{Name: "upstream", Source: registry, Patterns: provider.Patterns{Include: []provider.Pattern{acme}}}}},
		Host:      svchost.MustParse("registry.example.com"),
		// Clients fetch archives from where the other registry has them.
		Archive: func(_ context.Context, pkg *provider.Package) (string, error) { return pkg.URL, nil },
	})
	defer server.Close()

	for _, path := range []string{"acme/alpha", "other/beta"} {
		resp, err := server.Client().Get(server.URL + "/v1/providers/" + path + "/versions")
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(addrs.MustParseProvider("registry.example.com/"+path), http.StatusText(resp.StatusCode))
	}
	// Output:
	// registry.example.com/acme/alpha OK
	// registry.example.com/other/beta Not Found
}
