package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestNoDownload: without downloads, hashes come from the source or the store. A source that states
// the hashes of all platforms is asked for one package.
func TestNoDownload(t *testing.T) {
	t.Parallel()
	store := new(memory)
	_, _, honest := serveDemo(demoRelease())
	hashes(t, honest, five, provider.HashOptions{Store: store})
	for name, test := range map[string]struct {
		release  regtest.Provider
		o        provider.HashOptions
		packages int    // that are asked for
		reason   string // of ErrNotStated, "" for five reports
	}{
		"stated":                    {statingRelease(), provider.HashOptions{Stated: true}, 1, ""},
		"stated, not recorded":      {statingRelease(), provider.HashOptions{}, 5, "HashOptions.Stated"},
		"nothing stated":            {demoRelease(), provider.HashOptions{Stated: true}, 5, "states no h1"},
		"stored, zh stated for all": {statingRelease(), provider.HashOptions{Store: store}, 1, ""},
		"stored":                    {demoRelease(), provider.HashOptions{Store: store}, 5, ""},
		"empty store":               {demoRelease(), provider.HashOptions{Store: new(memory)}, 5, "HashOptions.Stated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _, client := serveDemo(test.release)
			test.o.NoDownload = true
			got, err := provider.Hashes(t.Context(), client, demo, v123, nil, test.o)
			if test.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantPlatforms(t, got, five...)
			} else {
				wantPlatforms(t, got)
				errs := joined(t, err)
				if len(errs) != len(five) {
					t.Errorf("Hashes: %d errors (%v), want one for each platform", len(errs), err)
				}
				for i, err := range errs {
					if !errors.Is(err, verify.ErrNotStated) || !strings.Contains(err.Error(), test.reason) || !strings.Contains(err.Error(), five[i].String()) {
						t.Errorf("Hashes: %v, want ErrNotStated of %s for %q", err, five[i], test.reason)
					}
				}
			}
			want := map[regtest.Kind]int{regtest.Discovery: 1, regtest.Versions: 1, regtest.Package: test.packages}
			if test.reason == "" {
				want[regtest.Sums], want[regtest.Signature] = 1, 1
			}
			wantRequests(t, reg, want)
		})
	}
}
