package login_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// Log in and save the token in the file of the CLI. Here, an identity server in this process
// stands for the host, and Browse for the user with a browser.
func ExampleClient_Login() {
	reg := regtest.New("registry.example.com")
	reg.Login = &regtest.Login{}

	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := auth.CredentialsFile{Path: filepath.Join(dir, "credentials.tfrc.json")}
	client := &login.Client{Transport: &transport.Settings{HTTP: reg.Client()}, Store: file, Open: reg.Browse}

	ctx, host := context.Background(), svchost.MustParse("registry.example.com")
	result, err := client.Login(ctx, host)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("expires:", !result.Expires.IsZero())
	token, err := file.Token(ctx, host)
	fmt.Println("stored:", token.Equal(result.Token), err)

	err = client.Logout(ctx, host)
	token, _ = file.Token(ctx, host)
	fmt.Println("after logout:", token, err)
	// Output:
	// expires: false
	// stored: true <nil>
	// after logout: [no token] <nil>
}

// If the host does not support logins, show the page on which users create tokens.
func ExampleUnsupportedError() {
	reg := regtest.New("registry.example.com")
	reg.Services = map[string]any{"modules.v1": "/v1/modules/", "tfe.v2": "/api/v2/"}

	client := &login.Client{Transport: &transport.Settings{HTTP: reg.Client()}, Open: reg.Browse}
	_, err := client.Login(context.Background(), svchost.MustParse("registry.example.com"))
	if unsupported, ok := errors.AsType[*login.UnsupportedError](err); ok {
		fmt.Println("create a token at", unsupported.TokensURL)
	}
	// Output:
	// create a token at https://registry.example.com/app/settings/tokens
}

// If the user refuses the login, the error is a RefusedError.
func ExampleRefusedError() {
	reg := regtest.New("registry.example.com")
	reg.Login = &regtest.Login{}
	reg.AddFault(regtest.Fault{Kind: regtest.LoginAuthz, Edit: func(doc map[string]any) {
		delete(doc, "code")
		doc["error"] = "access_denied"
	}})

	client := &login.Client{Transport: &transport.Settings{HTTP: reg.Client()}, Open: reg.Browse}
	_, err := client.Login(context.Background(), svchost.MustParse("registry.example.com"))
	fmt.Println(err)
	refused, ok := errors.AsType[*login.RefusedError](err)
	fmt.Println(ok && refused.Code == "access_denied")
	// Output:
	// log in to registry.example.com: refused by the identity server: access_denied
	// true
}
