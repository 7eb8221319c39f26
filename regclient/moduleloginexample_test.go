package regclient_test

import (
	"context"
	"fmt"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// The packages of a module are on a server that requires a password from the user's netrc file. The
// registry does not get the password.
func ExampleClient_netrc() {
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Origin: "https://files.example.com"})

	netrc, err := auth.ParseNetrc([]byte("machine files.example.com login alice password secret\n")) // or LoadNetrc
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}, ModuleCredentials: netrc.Lookup}

	ctx := context.Background()
	network, version := addrs.MustParseModule("registry.example.com/acme/network/aws"), addrs.MustParseModuleVersion("1.0.0")
	loc, err := client.ModuleLocation(ctx, network, version)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := client.OpenModule(ctx, loc) // as module.Download does
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	_, _ = io.Copy(io.Discard, body)
	for _, q := range reg.Requests() {
		fmt.Printf("%s: %q\n", q.Kind, q.Authorization)
	}
	// Output:
	// discovery: ""
	// module location: ""
	// module package: "Basic YWxpY2U6c2VjcmV0"
}
