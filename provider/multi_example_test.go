package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"testing/fstest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// mirrorOf returns a mirror in memory with one version of acme/alpha.
func mirrorOf(version string) *mirrorclient.Client {
	const dir = "registry.example.com/acme/alpha/"
	files := fstest.MapFS{
		dir + "index.json":      {Data: []byte(`{"versions": {"` + version + `": {}}}`)},
		dir + version + ".json": {Data: []byte(`{"archives": {"linux_amd64": {"url": "alpha.zip"}}}`)},
	}
	return &mirrorclient.Client{
		BaseURL:   "https://mirror.example.com/",
		Transport: &transport.Client{HTTP: &http.Client{Transport: http.NewFileTransportFS(files)}},
	}
}

// A mirror for the providers of one namespace, and the registry for all others, as in a
// provider_installation block of the CLI configuration.
func ExampleMulti() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.1.0"})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})

	src := &provider.Multi{
		Sources: []provider.NamedSource{
			{Name: "mirror", Source: mirrorOf("1.1.0"), Include: []provider.Pattern{provider.MustParsePattern("registry.example.com/acme/*")}},
			{Name: "direct", Source: &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}},
		},
		Skipped: func(source string, err error) { fmt.Println("skipped:", source) },
	}
	ctx := context.Background()
	versions, err := src.ProviderVersions(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, release := range versions.List {
		pkg, err := src.ProviderPackage(ctx, versions.Provider, release.Version, addrs.MustParsePlatform("linux_amd64"))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pkg.Version, "from", pkg.Via)
	}
	// Output:
	// skipped: mirror
	// 1.2.0 from direct
	// 1.1.0 from mirror
}

// Two mirrors with the same content. The first one is unavailable.
func ExampleFirstOf() {
	down := &mirrorclient.Client{
		BaseURL: "https://eu.mirror.example.com/",
		Transport: &transport.Client{
			Retries: -1,
			HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
			})},
		},
	}
	src := &provider.FirstOf{
		Sources: []provider.NamedSource{
			{Name: "eu", Source: down},
			{Name: "us", Source: mirrorOf("1.1.0")},
		},
		Skipped: func(source string, err error) { fmt.Println("skipped:", err) },
	}
	pkg, err := src.ProviderPackage(context.Background(), addrs.MustParseProvider("registry.example.com/acme/alpha"),
		addrs.MustParseVersion("1.1.0"), addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pkg, "from", pkg.Via)
	// Output:
	// skipped: find registry.example.com/acme/alpha 1.1.0 linux_amd64: https://eu.mirror.example.com/registry.example.com/acme/alpha/1.1.0.json: HTTP status 503: service unavailable
	// registry.example.com/acme/alpha 1.1.0 linux_amd64 from us
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Patterns are as in the include and exclude lists of the CLI.
func ExampleParsePattern() {
	pattern, err := provider.ParsePattern("Registry.Example.com/acme/*")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pattern, pattern.Matches(addrs.MustParseProvider("registry.example.com/acme/alpha")))

	_, err = provider.ParsePattern("*/acme/*")
	fmt.Println(err)
	// Output:
	// registry.example.com/acme/* true
	// invalid provider pattern "*/acme/*": the hostname can be * only if namespace and type are too
}
