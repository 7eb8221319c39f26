package failure_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// What failed, of what kind it is, and what the server answered.
func Example() {
	reg := regtest.New("registry.example.com") // without acme/alpha
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	_, err := registry.ProviderVersions(context.Background(), addrs.MustParseProvider("registry.example.com/acme/alpha"))

	if e, ok := errors.AsType[*failure.Error](err); ok {
		fmt.Println(e.Op, e.Subject)
	}
	fmt.Println(errors.Is(err, failure.ErrNotFound), errors.Is(err, failure.ErrUnauthorized))
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		fmt.Println(e.URL, e.Status == http.StatusNotFound)
	}
	// Output:
	// list versions of registry.example.com/acme/alpha
	// true false
	// https://registry.example.com/v1/providers/acme/alpha/versions true
}
