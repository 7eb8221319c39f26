package throttle_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/throttle"
)

// A server gives each job a client with the token of its user. All clients share the limits.
func Example() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})

	shared := &http.Client{Transport: &throttle.Transport{
		Base:      reg, // for this example; leave it out to use the network
		PerSecond: 50,
		Parallel:  4,
	}}
	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	var jobs sync.WaitGroup
	for range 20 {
		client := &regclient.Client{Transport: &transport.Settings{HTTP: shared}}
		jobs.Go(func() {
			if _, err := client.ProviderVersions(context.Background(), alpha); err != nil {
				fmt.Println(err)
			}
		})
	}
	jobs.Wait()
	fmt.Println(reg.Count(regtest.Versions), "requests, at most 4 at the same time")
	// Output:
	// 20 requests, at most 4 at the same time
}
