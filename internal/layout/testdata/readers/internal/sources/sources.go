// Package sources has the four sources that the readers wrapped.
package sources

import (
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// Alpha is the provider that each source has, for the platform Here.
var Alpha, Here = addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParsePlatform("linux_amd64")

func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Policy is for packages of src: a network mirror has no signatures.
func Policy(src provider.Source) provider.Policies {
	_, unsigned := src.(*mirrorclient.Client)
	return func(addrs.Provider) verify.Policy { return verify.Policy{AllowUnsigned: unsigned} }
}

// All returns a registry, a directory, a network mirror, and the first two together.
func All(dir string, versions ...string) []provider.Source {
	reg := regtest.New("registry.example.com")
	set := &transport.Settings{HTTP: reg.Client()}
	client, mirror := &regclient.Client{Transport: set}, &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: set}
	files := Must(mirrordir.Open(dir))
	for _, v := range versions {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v, Platforms: []string{Here.String()}})
		wants := []mirrordir.Want{{Provider: Alpha, Version: addrs.MustParseVersion(v)}}
		Must(files.Add(context.Background(), client, wants, mirrordir.AddOptions{}))
	}
	multi := &provider.Multi{Sources: []provider.NamedSource{{Name: "files", Source: files}, {Name: "registry", Source: client}}}
	return []provider.Source{client, files, mirror, multi}
}

// Get returns the status of a file of Alpha that h serves.
func Get(h http.Handler, name string) int {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/registry.example.com/acme/alpha/"+name, nil))
	return rec.Code
}
