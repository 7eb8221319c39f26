package mirrorserve_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestPolicyOfEachProvider: a Handler and a Cache judge each provider by its own policy.
func TestPolicyOfEachProvider(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	reg.AddProvider(regtest.Provider{Address: "acme/beta", Platforms: names(three)})
	strict := func(p addrs.Provider) verify.Policy {
		if p != alpha {
			return verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(strings.Repeat("0", 40)))(t)}
		}
		return verify.Policy{}
	}
	m := &mirrordir.Mirror{Store: &bucket{}, TempDir: t.TempDir()}
	for name, h := range map[string]*mirrorserve.Handler{
		"Handler": {Source: src, Policy: strict, TempDir: t.TempDir()},
		"Cache":   {Source: &mirrorserve.Cache{Source: src, Mirror: m, Policy: strict}},
	} {
		mustFetch(t, h, home+"/1.0.0.json")
		mustFetch(t, h, archive(v1, linux))
		for _, path := range []string{home + "/1.0.0.json", archive(v1, linux)} {
			if status, body := fetch(h, strings.ReplaceAll(path, "alpha", "beta")); status == 200 {
				t.Errorf("%s: %s of beta: %d bytes; want a refusal", name, path, len(body))
			}
		}
	}
}
