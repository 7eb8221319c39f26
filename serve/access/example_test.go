package access_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// Count what a registry serves.
func Example() {
	upstream := regtest.New("registry.example.com")
	upstream.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: []string{"linux_amd64"}})
	registry := &regserve.Handler{
		Providers: &regclient.Client{Transport: &transport.Settings{HTTP: upstream.Client()}},
		Host:      svchost.MustParse("registry.example.com"),
		Access: func(_ context.Context, e access.Entry) {
			fmt.Println(e.Kind, e.Subject(), e.Status, e.Cache)
		},
	}
	for _, path := range []string{"versions", "1.0.0/download/linux/amd64", "1.0.0/download/linux/amd64/SHA256SUMS"} {
		registry.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/providers/acme/alpha/"+path, nil))
	}
	// Output:
	// versions registry.example.com/acme/alpha 200 miss
	// package registry.example.com/acme/alpha 1.0.0 linux_amd64 200 miss
	// sums registry.example.com/acme/alpha 1.0.0 linux_amd64 200 hit
}
