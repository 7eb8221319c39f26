package throttle_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/throttle"
)

// A server that starts jobs for its users gives each of them a client of its own, with
// the token of that user, and all of them the same transport.
func Example() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})

	shared := &http.Client{Transport: &throttle.Transport{
		Base:      reg, // in a program: leave it out, or what speaks to the network
		PerSecond: 50,
		Parallel:  4,
	}}
	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	var jobs sync.WaitGroup
	for range 20 {
		client := &regclient.Client{Transport: &transport.Client{HTTP: shared}}
		jobs.Go(func() {
			if _, err := client.ProviderVersions(context.Background(), alpha); err != nil {
				fmt.Println(err)
			}
		})
	}
	jobs.Wait()
	fmt.Println(reg.Count(regtest.Versions), "lists were asked for, no more than 4 at a time")
	// Output:
	// 20 lists were asked for, no more than 4 at a time
}
