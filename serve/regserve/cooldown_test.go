package regserve_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// datedOrigin returns a registry whose versions 1.0.0 are two weeks old and 1.1.0 an hour, and a client of it.
func datedOrigin() (*regtest.Registry, *regclient.Client) {
	reg := regtest.New(originHost)
	for version, age := range map[string]time.Duration{"1.0.0": 14 * 24 * time.Hour, "1.1.0": time.Hour} {
		seen := time.Now().Add(-age).Format(time.RFC3339)
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{addrs.CurrentPlatform().String()}, PackageHashes: true, Discovered: seen})
		reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: version, Discovered: seen})
	}
	return reg, &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
}

// TestDiscovered: a Handler states the dates of its source, and a client of it has them.
func TestDiscovered(t *testing.T) {
	t.Parallel()
	_, client := datedOrigin()
	server := serve(t, &regserve.Handler{Providers: client, Modules: client, Host: svchost.MustParse(originHost)})
	downstream := &regclient.Client{Transport: &transport.Settings{HTTP: server.Client()}}
	host := strings.Replace(strings.TrimPrefix(server.URL, "https://"), "localhost", "127.0.0.1", 1)
	p, m := addrs.MustParseProvider(originHost+"/acme/alpha"), addrs.MustParseModule(originHost+"/acme/network/aws")
	wantP, wantM := must.Get(client.ProviderVersions(t.Context(), p))(t), must.Get(client.ModuleVersions(t.Context(), m))(t)
	gotP := must.Get(downstream.ProviderVersions(t.Context(), addrs.MustParseProvider(host+"/acme/alpha")))(t)
	gotM := must.Get(downstream.ModuleVersions(t.Context(), addrs.MustParseModule(host+"/acme/network/aws")))(t)
	for i := range 2 {
		if got, want := gotP.Versions[i].Discovered, wantP.Versions[i].Discovered; !got.Equal(want) || got.IsZero() {
			t.Errorf("provider version %s was seen %v, want %v", gotP.Versions[i].Version, got, want)
		}
		if got, want := gotM.Versions[i].Discovered, wantM.Versions[i].Discovered; !got.Equal(want) || got.IsZero() {
			t.Errorf("module version %s was seen %v, want %v", gotM.Versions[i].Version, got, want)
		}
	}
}

// TestCooldownClients: from a Handler with wrapped sources both clients choose the older versions. With a lock file of the younger
// one they fail, and under Permit they install it.
func TestCooldownClients(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		_, client := datedOrigin()
		rule := cooldown.Rule{Age: 7 * 24 * time.Hour}
		var now atomic.Pointer[regserve.Handler]
		list := func(providers cooldown.Providers) {
			providers.Source = client
			now.Store(&regserve.Handler{Providers: &providers, Modules: &cooldown.Modules{Source: client, Rule: rule}, Host: svchost.MustParse(originHost), StreamModules: true})
		}
		list(cooldown.Providers{})
		// One server for all, since its name is in the lock file.
		server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
		host := strings.TrimPrefix(server.URL, "https://")
		p := terraformtest.New(t, program)
		p.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		p.Write(t, "main.tf", fmt.Sprintf(`
terraform {
  required_providers {
    alpha = { source = "%[1]s/acme/alpha", version = "~> 1.0" }
  }
}
module "network" { source = "%[1]s/acme/network/aws" }
`, host))
		want := func(when, version string, flags ...string) {
			t.Helper()
			if out := p.Init(t, flags...); !strings.Contains(out, "alpha v"+version) {
				t.Errorf("%s, %s installed another version than %s:\n%s", when, program, version, out)
			}
		}
		want("without a rule", "1.1.0")
		if list := p.Read(t, ".terraform/modules/modules.json"); !strings.Contains(list, `"1.0.0"`) {
			t.Errorf("another module than 1.0.0 is installed: %s", list)
		}
		list(cooldown.Providers{Rule: rule})
		must.Do(t, os.RemoveAll(filepath.Join(p.Dir, ".terraform")))
		if out, err := p.Try(t, "init", "-no-color", "-input=false"); err == nil || !strings.Contains(out, "previously-selected version") {
			t.Errorf("with a lock file of a held version, %s returned %v:\n%s", program, err, out)
		}
		lock := must.Get(lockfile.Load(filepath.Join(p.Dir, lockfile.Name)))(t)
		list(cooldown.Providers{Rule: rule, Permit: func(a addrs.Provider, v addrs.Version) bool { // the lock file has the name of the server
			return lock.Locks(addrs.MustParseProvider(host+"/"+a.Namespace()+"/"+a.Type()), v)
		}})
		want("with a lock file and Permit", "1.1.0")
		list(cooldown.Providers{Rule: rule})
		want("with the rule", "1.0.0", "-upgrade")
	})
}
