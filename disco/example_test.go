package disco_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// registry is the network of the examples.
var registry = &http.Client{Transport: pages(map[string]webtest.Handler{
	"https://registry.example.com/.well-known/terraform.json": answer(200, `{
		"providers.v1": "/api/providers/v1/",
		"modules.v2":   "https://modules.example.com/v2/",
		"login.v1":     {"client": "cli", "authz": "/oauth/authorize", "token": "/oauth/token", "ports": [10000, 10010]}
	}`),
})}

func ExampleClient_Discover() {
	client := disco.Client{
		Transport: &transport.Settings{HTTP: registry, Credentials: auth.Environ(nil)},
	}
	host := svchost.MustParse("registry.example.com")

	services, err := client.Discover(context.Background(), host)
	if err != nil {
		log.Fatal(err) // the request failed
	}
	base, err := services.URL(disco.ProvidersV1)
	if err != nil {
		log.Fatal(err) // the host has no such service
	}
	fmt.Println(base)

	_, err = services.URL(disco.ModulesV1)
	fmt.Println(err)
	if failed, ok := errors.AsType[*disco.ServiceError](err); ok && errors.Is(err, disco.ErrServiceVersion) {
		fmt.Println("try", failed.Offered)
	}
	client.Forget(host) // the next call asks the host again
	// Output:
	// https://registry.example.com/api/providers/v1/
	// modules.v1 at registry.example.com: service version not offered; the host offers modules.v2
	// try [modules.v2]
}

func ExampleServices_OAuthClient() {
	client := disco.Client{Transport: &transport.Settings{HTTP: registry}}
	services, err := client.Discover(context.Background(), svchost.MustParse("registry.example.com"))
	if err != nil {
		log.Fatal(err)
	}
	login, err := services.OAuthClient()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("in the browser:", slices.Contains(login.GrantTypes, disco.GrantAuthzCode))
	fmt.Println(login.ID, login.AuthorizationURL, login.TokenURL, login.MinPort, login.MaxPort)
	// Output:
	// in the browser: true
	// cli https://registry.example.com/oauth/authorize https://registry.example.com/oauth/token 10000 10010
}

// A private registry at a fixed URL, without a discovery document.
func ExampleNewHosts() {
	const base = "https://artifacts.example.net/api/registry/modules/"
	registry := regtest.New("registry.example.com") // instead of the network
	registry.Services = map[string]any{"modules.v1": base}
	registry.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.4.0"})
	registry.Require("xxxxxx", 0)

	host := svchost.MustParse("registry.example.com")
	client := &regclient.Client{
		Transport: &transport.Settings{HTTP: registry.Client(), Credentials: auth.MustNewToken("xxxxxx").For(host)},
		Hosts:     disco.NewHosts(host, map[disco.Service]any{disco.ModulesV1: base}),
	}
	versions, err := client.ModuleVersions(context.Background(), addrs.MustParseModule("registry.example.com/acme/network/aws"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(versions)
	for _, request := range registry.Requests() {
		fmt.Println(request)
	}
	// Output:
	// registry.example.com/acme/network/aws: 1.4.0
	// GET https://artifacts.example.net/api/registry/modules/acme/network/aws/versions: 200 (module versions, with Authorization)
}

func ExampleParseServices() {
	// A tool checks a document before it is published.
	document := []byte(`{"providers.v1": "api/v1/", "modules.v1": "http://example.com/modules/"}`)
	final := &url.URL{Scheme: "https", Host: "cdn.example.com", Path: "/discovery/terraform.json"}

	services, err := disco.ParseServices(svchost.MustParse("example.com"), final, document)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range services.IDs() {
		base, err := services.URL(id)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(id, base)
	}
	// Output:
	// modules.v1 at example.com: insecure: http://example.com/modules/ is not https; set AllowHTTP to permit it
	// providers.v1 https://cdn.example.com/discovery/api/v1/
}

// Two registries without a discovery document.
func ExampleNewServices() {
	hosts := disco.Hosts{Overrides: map[svchost.Hostname]*disco.Services{}}
	for _, name := range []string{"registry.example.com", "modules.example.com"} {
		hosts.Overrides[svchost.MustParse(name)] = disco.NewServices(svchost.MustParse(name), map[disco.Service]any{disco.ModulesV1: "/api/modules/"})
	}
	client := disco.Client{Hosts: &hosts}
	services, err := client.Discover(context.Background(), svchost.MustParse("modules.example.com")) // without a request
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(services.URL(disco.ModulesV1))
	// Output: https://modules.example.com/api/modules/ <nil>
}
