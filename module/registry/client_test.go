package registry_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module/registry"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// TestOneDiscovery: a client of modules asks a host for its services once, also together with a client of providers that
// has the same Hosts, and a regclient.Client without Hosts asks once for both. The tests of regclient call all methods.
func TestOneDiscovery(t *testing.T) {
	t.Parallel()
	const host = "registry.example.com"
	reg := regtest.New(host)
	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	network, alpha := addrs.MustParseModule(host+"/acme/network/aws"), addrs.MustParseProvider(host+"/acme/alpha")
	settings, hosts := &transport.Settings{HTTP: reg.Client(), Retries: -1}, &disco.Hosts{}

	modules := &registry.Client{Transport: settings, Hosts: hosts}
	both := &regclient.Client{Transport: settings, Hosts: hosts}
	alone := &regclient.Client{Transport: settings}
	for name, call := range map[string]func(){
		"registry.Client and regclient.Client with the same Hosts": func() {
			must.Get(modules.ModuleVersions(t.Context(), network))(t)
			must.Get(both.ProviderVersions(t.Context(), alpha))(t)
			must.Get(both.ModuleVersions(t.Context(), network))(t)
		},
		"regclient.Client without Hosts": func() {
			must.Get(alone.ModuleVersions(t.Context(), network))(t)
			must.Get(alone.ProviderVersions(t.Context(), alpha))(t)
		},
	} {
		before := len(reg.Requests())
		call()
		asked := 0
		for _, r := range reg.Requests()[before:] {
			if r.Kind == regtest.Discovery {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("%s: %d requests for the services of the host, want 1", name, asked)
		}
	}
}
