package mirrordir_test

import (
	"errors"
	"github.com/tofureg/tofureg/failure"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestPolicyOfEachProvider: Add, AddLocked and Check judge each provider by its own policy.
func TestPolicyOfEachProvider(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	reg.AddProvider(regtest.Provider{Address: "acme/beta", Platforms: names(three)})
	beta := addrs.MustParseProvider("registry.example.com/acme/beta")
	strict := func(p addrs.Provider) verify.Policy {
		if p == beta {
			return verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(strings.Repeat("0", 40)))(t)}
		}
		return verify.Policy{}
	}
	both := append(wants(three, v1), mirrordir.Want{Provider: beta, Version: v1, Platforms: three})
	m, _ := newMirror(t)
	added, err := m.Add(t.Context(), client, both, mirrordir.AddOptions{Policy: strict})
	if e, ok := errors.AsType[*failure.Error](err); len(added) != 3 || added[0].Provider != alpha || !errors.Is(err, verify.ErrUnknownKey) || !ok || !strings.Contains(e.Subject, "beta") {
		t.Errorf("Add returned %v, %v; want alpha, and %v for beta", added, err, verify.ErrUnknownKey)
	}
	mustAdd(t, m, client, both, mirrordir.AddOptions{})
	report := mustCheck(t, m, mirrordir.CheckOptions{Policy: strict})
	for _, problem := range report.Problems {
		if problem.Provider != beta || problem.Kind != "refused" {
			t.Errorf("Check found %s", problem)
		}
	}
	if len(report.Problems) != 3 {
		t.Errorf("Check found %d problems, want those of beta", len(report.Problems))
	}
	var lock lockfile.File
	for _, a := range must.Get(m.Add(t.Context(), client, both, mirrordir.AddOptions{}))(t) {
		if err := lock.Merge(a.Provider, a.Version, addrs.ProviderConstraint{}, a.Hashes); err != nil {
			t.Error(err)
		}
	}
	other, _ := newMirror(t)
	required := func(p addrs.Provider) verify.Policy {
		policy := strict(p)
		policy.RequireSignature = true
		return policy
	}
	if added, err := other.AddLocked(t.Context(), client, &lock, three, mirrordir.AddOptions{Policy: required}); len(added) != 3 || !errors.Is(err, verify.ErrUnknownKey) {
		t.Errorf("AddLocked returned %v, %v; want alpha, and %v for beta", added, err, verify.ErrUnknownKey)
	}
}
