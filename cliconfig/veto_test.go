package cliconfig_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestVetoHost checks that all clients call VetoHost for each host that they contact.
func TestVetoHost(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{
		"plain":                     nil,
		"other retries of archives": {"TF_PROVIDER_DOWNLOAD_RETRY=7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New("registry.example.com")
			reg.Services = map[string]any{"providers.v1": "https://api.example.com/v1/providers/"}
			reg.Mirror.Origin = "https://cdn.example.com"
			for _, p := range []addrs.Provider{alpha, beta} {
				add(reg, p, func(p *regtest.Provider) { p.Origin = "https://files.example.com" })
			}
			cfg := installation(t, both, environ...)
			cfg.HTTP = reg.Client()
			var mu sync.Mutex
			var asked []string
			cfg.VetoHost = func(host string) error {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, host)
				return nil
			}
			for _, p := range []addrs.Provider{alpha, beta} {
				must.Get(get(t, cfg, p))(t)
			}
			must.Get(cfg.Registry().ProviderVersions(t.Context(), beta))(t)
			var contacted []string
			for _, q := range reg.Requests() {
				contacted = append(contacted, q.Host)
			}
			slices.Sort(asked)
			slices.Sort(contacted)
			asked = slices.Compact(asked) // also asked about a host whose services are cached
			contacted = slices.Compact(contacted)
			hosts := []string{"api.example.com", "cdn.example.com", "files.example.com", "mirror.example.com", "registry.example.com"}
			if !slices.Equal(asked, contacted) || !slices.Equal(contacted, hosts) {
				t.Errorf("asked about %v, contacted %v", asked, contacted)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		errVeto := errors.New("not this one")
		reg := regtest.New("registry.example.com")
		cfg := installation(t, both)
		cfg.HTTP, cfg.VetoHost = reg.Client(), func(string) error { return errVeto }
		for _, p := range []addrs.Provider{alpha, beta} {
			if _, err := get(t, cfg, p); !errors.Is(err, errVeto) {
				t.Errorf("%s: %v, want the veto", p, err)
			}
		}
		if _, err := cfg.Discovery().Discover(t.Context(), alpha.Host()); !errors.Is(err, errVeto) || reg.Count(0) != 0 {
			t.Errorf("%v, want the veto; %d requests", err, reg.Count(0))
		}
	})
}
