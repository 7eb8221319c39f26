package regclient_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// moduleKinds are in the order of a cold download.
var moduleKinds = []regtest.Kind{regtest.Discovery, regtest.ModuleVersions, regtest.ModuleLocation, regtest.ModulePackage}

// walkModule finds and fetches a module, from discovery to the package.
func walkModule(t *testing.T, c *regclient.Client) {
	t.Helper()
	must(c.ModuleVersions(t.Context(), network))(t)
	loc := must(c.ModuleLocation(t.Context(), network, v100))(t)
	if err := fetch(t, c, loc); err != nil {
		t.Fatal(err)
	}
}

// fetch reads the package at loc.
func fetch(t *testing.T, c *regclient.Client, loc *module.Location) error {
	t.Helper()
	body, err := c.OpenModule(t.Context(), loc)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

// TestTokenForModulePackage: the package is at each place, with each use_registry_credentials.
func TestTokenForModulePackage(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, place := range places {
		for name, use := range map[string]*bool{"absent": nil, "false": &no, "true": &yes} {
			for _, packages := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, use_registry_credentials %s, PackageCredentials %t", place.name, name, packages), func(t *testing.T) {
					t.Parallel()
					reg := moduleRegistry(regtest.Module{Origin: place.origin, UseRegistryCredentials: use})
					walkModule(t, leakClient(t, reg, packages))
					wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool {
						if r.Kind != regtest.ModulePackage {
							return true
						}
						return use == &yes && place.private && (packages || plain(place.origin) == "https://"+host)
					})
				})
			}
		}
	}
}

// TestTokenForDeclaredModuleService: the discovery document declares a registry at each place, with
// packages there or at the host in the address.
func TestTokenForDeclaredModuleService(t *testing.T) {
	t.Parallel()
	yes := true
	for _, place := range places {
		for _, packagesAt := range []string{place.origin, "https://" + host, "https://third.example.net"} {
			t.Run(place.name+", packages at "+packagesAt, func(t *testing.T) {
				t.Parallel()
				reg := moduleRegistry(regtest.Module{Origin: packagesAt, UseRegistryCredentials: &yes})
				reg.Services = map[string]any{"modules.v1": place.origin + "/v1/modules"}
				walkModule(t, leakClient(t, reg, false))
				wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool {
					return r.Scheme == "https" && r.Host != "third.example.net"
				})
			})
		}
	}
}

// TestTokenBesidePlainService: if the registry is served over http, its host gets no token over https
// either.
func TestTokenBesidePlainService(t *testing.T) {
	t.Parallel()
	yes := true
	reg := moduleRegistry(regtest.Module{Origin: "https://api.example.net", UseRegistryCredentials: &yes})
	reg.Services = map[string]any{"modules.v1": "http://api.example.net/v1/modules"}
	walkModule(t, leakClient(t, reg, false))
	wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool { return r.Kind == regtest.Discovery })
}

// TestTokenOnModuleRedirect: each kind of request is redirected to each place.
func TestTokenOnModuleRedirect(t *testing.T) {
	t.Parallel()
	yes := true
	for _, place := range places {
		for _, kind := range moduleKinds {
			for _, packages := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v to %s, PackageCredentials %t", kind, place.name, packages), func(t *testing.T) {
					t.Parallel()
					reg := moduleRegistry(regtest.Module{UseRegistryCredentials: &yes})
					reg.AddFault(regtest.Fault{Kind: kind, Redirect: place.origin})
					walkModule(t, leakClient(t, reg, packages))
					wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool {
						switch {
						case plain(origin(r)) == "https://"+host:
							return true
						case !place.private:
							return false
						case kind == regtest.Discovery:
							// Relative URLs in its document lead to where it was, and are then
							// the registry's own word.
							return r.Kind != regtest.Discovery
						case kind == regtest.ModuleLocation:
							// The answer from there has an absolute URL to there.
							return r.Kind == regtest.ModulePackage && packages
						}
						return false
					})
				})
			}
		}
	}
}

// TestNoTokenForIndirectPackage: a package that is not served by the registry itself gets no token,
// and neither do the pages before it.
func TestNoTokenForIndirectPackage(t *testing.T) {
	t.Parallel()
	for _, tag := range []bool{false, true} {
		reg := moduleRegistry(regtest.Module{Pages: 2, MetaTag: tag})
		c := leakClient(t, reg, true)
		must(module.Download(t.Context(), c, sourceOf(network), v100, t.TempDir(), module.Options{}))(t)
		all := []regtest.Kind{regtest.Discovery, regtest.ModuleLocation, regtest.ModulePage, regtest.ModulePackage}
		wantTokensFor(t, reg, all, func(r regtest.Request) bool {
			return r.Kind != regtest.ModulePage && r.Kind != regtest.ModulePackage
		})
	}
}

// TestTokenNeedsBothFlags: a location may come from a file, so each flag alone is not enough.
func TestTokenNeedsBothFlags(t *testing.T) {
	t.Parallel()
	const here = "https://" + host + "/packages/a.zip"
	tests := map[string]struct {
		loc  module.Location
		want string
	}{
		"both":          {*at(module.Location{URL: here, Direct: true, UseRegistryCredentials: true}), "Bearer " + secret},
		"upper case":    {*at(module.Location{URL: strings.Replace(here, host, strings.ToUpper(host), 1), Direct: true, UseRegistryCredentials: true}), "Bearer " + secret},
		"not direct":    {*at(module.Location{URL: here, UseRegistryCredentials: true}), ""},
		"not asked for": {*at(module.Location{URL: here, Direct: true}), ""},
		"no module":     {module.Location{Kind: module.KindHTTP, URL: here, Direct: true, UseRegistryCredentials: true}, ""},
		"presigned":     {*at(module.Location{URL: here + "?X-Amz-Signature=abc", Direct: true, UseRegistryCredentials: true}), ""},
		"own password":  {*at(module.Location{URL: "https://user:pass@" + host + "/a.zip", Direct: true, UseRegistryCredentials: true}), "Basic dXNlcjpwYXNz"},
	}
	for name, test := range tests {
		reg := moduleRegistry(regtest.Module{})
		reg.AddFault(regtest.Fault{Kind: regtest.Other, Raw: []byte("archive")})
		if err := fetch(t, leakClient(t, reg, true), &test.loc); err != nil {
			t.Errorf("%s: OpenModule returned %v, want no error", name, err)
		}
		r := reg.Requests()
		if got := r[len(r)-1]; got.Kind != regtest.Other || got.Authorization != test.want {
			t.Errorf("%s: %s with %q, want %q", name, got, got.Authorization, test.want)
		}
	}
}

// TestModulePackageCredentials: it is called for other hosts than the registry's, with the host of the
// address, and cannot change the URL.
func TestModulePackageCredentials(t *testing.T) {
	t.Parallel()
	yes := true
	for at, want := range map[string]int{"https://" + host: 0, "https://files.example.com": 1, "http://files.example.com": 0} {
		reg := moduleRegistry(regtest.Module{Origin: at, UseRegistryCredentials: &yes})
		c := leakClient(t, reg, false)
		asked := 0
		c.Transport.PackageCredentials = func(h svchost.Hostname, u *url.URL) bool {
			asked++
			if h.String() != host || u.Host != "files.example.com" || !strings.HasPrefix(u.Path, "/packages/") {
				t.Errorf("asked about %s for %s", h, u)
			}
			u.Host = "changed.example.com"
			return false
		}
		walkModule(t, c)
		if asked != want {
			t.Errorf("%s: asked %d times, want %d", at, asked, want)
		}
		wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool {
			return r.Kind != regtest.ModulePackage || at == "https://"+host
		})
	}
}

// TestTokenOfAlias: the token of the real host is sent, to places of the real host.
func TestTokenOfAlias(t *testing.T) {
	t.Parallel()
	yes := true
	for packagesAt, want := range map[string]bool{"https://real.example.net": true, "https://" + host: false} {
		reg := moduleRegistry(regtest.Module{Origin: packagesAt, UseRegistryCredentials: &yes})
		reg.AddModule(regtest.Module{Address: "real.example.net/acme/network/aws", Origin: packagesAt, UseRegistryCredentials: &yes})
		named, real := svchost.MustParse(host), svchost.MustParse("real.example.net")
		token := must(auth.NewToken(secret))(t)
		c := client(reg)
		c.Transport.Credentials = auth.Static(map[svchost.Hostname]auth.Token{real: token})
		c.Hosts = &disco.Hosts{Aliases: map[svchost.Hostname]svchost.Hostname{named: real}}
		walkModule(t, c)
		wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool { return r.Kind != regtest.ModulePackage || want })
	}
}

// TestWithheldTokenIsExplained: if the token is not sent, the error for a 401 names the remedy.
func TestWithheldTokenIsExplained(t *testing.T) {
	t.Parallel()
	yes := true
	for _, test := range []struct {
		at   string
		want bool
	}{{"https://files.example.com", true}, {"https://" + host, false}} {
		reg := moduleRegistry(regtest.Module{Origin: test.at, UseRegistryCredentials: &yes})
		reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, Status: http.StatusUnauthorized})
		c := leakClient(t, reg, false)
		loc, err := c.ModuleLocation(t.Context(), network, v100)
		if err != nil {
			t.Fatal(err)
		}
		err = fetch(t, c, loc)
		if e := asError(t, err); e.Status != 401 || e.HadToken == test.want || strings.Contains(err.Error(), "Client.PackageCredentials") != test.want {
			t.Errorf("%s: error %v, want a 401 with the remedy: %t", test.at, err, test.want)
		}
	}
}
