package disco_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/transport"
)

// registry stands in for the network in the examples.
var registry = &http.Client{Transport: pages(map[string]answer{
	"https://registry.example.com/.well-known/terraform.json": {body: `{
		"providers.v1": "/api/providers/v1/",
		"modules.v2":   "https://modules.example.com/v2/",
		"login.v1":     {"client": "cli", "authz": "/oauth/authorize", "token": "/oauth/token", "ports": [10000, 10010]}
	}`},
})}

func ExampleClient_Discover() {
	client := disco.Client{
		Transport: &transport.Client{HTTP: registry, Credentials: auth.Environ(nil)},
	}
	host := svchost.MustParse("registry.example.com")

	services, err := client.Discover(context.Background(), host)
	if err != nil {
		log.Fatal(err) // the host cannot be asked
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
	// Output:
	// https://registry.example.com/api/providers/v1/
	// modules.v1 at registry.example.com: service version not offered; the host offers modules.v2
	// try [modules.v2]
}

func ExampleServices_OAuthClient() {
	client := disco.Client{Transport: &transport.Client{HTTP: registry}}
	services, err := client.Discover(context.Background(), svchost.MustParse("registry.example.com"))
	if err != nil {
		log.Fatal(err)
	}
	login, err := services.OAuthClient()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(login.ID, login.AuthorizationURL, login.TokenURL, login.MinPort, login.MaxPort)
	// Output:
	// cli https://registry.example.com/oauth/authorize https://registry.example.com/oauth/token 10000 10010
}

func ExampleNewServices() {
	host := svchost.MustParse("registry.example.com")
	services := disco.NewServices(host, map[disco.Service]any{
		disco.ProvidersV1: "https://staging.example.com/providers/",
		disco.ModulesV1:   "/modules/",
	})
	client := disco.Client{
		Hosts: &disco.Hosts{
			Overrides: map[svchost.Hostname]*disco.Services{host: services},
			Aliases:   map[svchost.Hostname]svchost.Hostname{svchost.MustParse("registry.test"): host},
		},
	}
	for _, name := range []string{"registry.example.com", "registry.test"} {
		s, err := client.Discover(context.Background(), svchost.MustParse(name))
		if err != nil {
			log.Fatal(err)
		}
		for _, id := range s.IDs() {
			base, err := s.URL(id)
			fmt.Println(s.Host(), id, base, err)
		}
	}
	// Output:
	// registry.example.com modules.v1 https://registry.example.com/modules/ <nil>
	// registry.example.com providers.v1 https://staging.example.com/providers/ <nil>
	// registry.test modules.v1 https://registry.example.com/modules/ <nil>
	// registry.test providers.v1 https://staging.example.com/providers/ <nil>
}

func ExampleParseServices() {
	// A tool that checks a document before it is published.
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
	// modules.v1 at example.com: insecure: http://example.com/modules/ is not https; Client.AllowHTTP would accept it
	// providers.v1 https://cdn.example.com/discovery/api/v1/
}
