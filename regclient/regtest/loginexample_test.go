package regtest_test

import (
	"context"
	"fmt"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/auth/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// A program logs in without a browser and uses the token.
func ExampleLogin() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	reg.Login = &regtest.Login{Token: "of-alice"}
	reg.Require("of-alice", regtest.Metadata)

	ctx, host := context.Background(), svchost.MustParse("registry.example.com")
	client := &login.Client{Transport: &transport.Client{HTTP: reg.Client()}, Open: reg.Browse}
	result, err := client.Login(ctx, host)
	if err != nil {
		fmt.Println(err)
		return
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
