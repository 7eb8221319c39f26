package regclient_test

import (
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// TestDiscovered: both lists have the time at which the registry first saw a version, as UTC. Anything else is unknown and no warning,
// also if the registry sends platforms in another form.
func TestDiscovered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stated any
		want   time.Time
	}{
		"time":         {"2026-04-14T08:30:00Z", time.Date(2026, 4, 14, 8, 30, 0, 0, time.UTC)},
		"zone":         {"2026-04-14T08:30:00.5+02:00", time.Date(2026, 4, 14, 6, 30, 0, 5e8, time.UTC)},
		"null":         {nil, time.Time{}},
		"empty":        {"", time.Time{}},
		"day":          {"2026-04-14", time.Time{}},
		"number":       {1776155400, time.Time{}},
		"object":       {map[string]any{"at": "2026-04-14T08:30:00Z"}, time.Time{}},
		"list":         {[]any{"2026-04-14T08:30:00Z"}, time.Time{}},
		"zero":         {"0001-01-01T00:00:00Z", time.Time{}},
		"before years": {"0000-12-31T23:59:59Z", time.Time{}},
		"last second":  {"9999-12-31T23:59:59Z", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
		"after years":  {"9999-12-31T23:59:59-00:01", time.Time{}},
	} {
		for _, oddPlatforms := range []bool{false, true} {
			reg := regtest.New("registry.example.com")
			reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
			reg.AddModule(regtest.Module{Address: "acme/network/aws", Properties: map[string]any{"discovered": test.stated, "commit": "5eed"}})
			reg.AddFault(regtest.Fault{Kind: regtest.Versions, Edit: func(doc map[string]any) {
				version := doc["versions"].([]any)[0].(map[string]any)
				version["discovered"] = test.stated
				if oddPlatforms {
					version["platforms"] = "all"
				}
			}})
			client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
			p := must.Get(client.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/alpha")))(t)
			m := must.Get(client.ModuleVersions(t.Context(), addrs.MustParseModule("registry.example.com/acme/network/aws")))(t)
			if got := p.Versions[0].Discovered; got != test.want || len(p.Warnings) > 0 != oddPlatforms {
				t.Errorf("%s: a provider was seen %v, want %v; warnings %q", name, got, test.want, p.Warnings)
			}
			if got := m.Versions[0].Discovered; got != test.want || len(m.Warnings) > 0 {
				t.Errorf("%s: a module was seen %v, want %v; warnings %q", name, got, test.want, m.Warnings)
			}
		}
	}
}
