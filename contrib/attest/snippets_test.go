package attest_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/attest/internal/must"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestSnippets runs the functions of the guide, as far as they go without the public instance.
func TestSnippets(t *testing.T) {
	t.Parallel()
	web, _ := hosts{}.client()
	if in, err := demandProvenance(t.Context(), web, t.TempDir()); err == nil || !strings.Contains(err.Error(), "tuf-repo-cdn.sigstore.dev") {
		t.Errorf("demandProvenance without a network: %v, %v, want an error about the trusted root", in, err)
	}
	var lock lockfile.File
	must.Do(t, lock.Merge(demo, v120, addrs.ProviderConstraint{}, []checksum.Hash{archive}))
	policy := onlyForNewVersions(verifier(), &lock)
	if locked, free := policy(demo), policy(addrs.MustParseProvider("acme/other")); locked.Demands() || free.Provenance == nil {
		t.Errorf("onlyForNewVersions: locked %v, others %v, want Provenance for others only", locked.Provenance, free.Provenance)
	}
}
