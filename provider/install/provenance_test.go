package install_test

import (
	"context"
	"errors"
	"github.com/tofureg/tofureg/failure"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// attesting is a source whose packages have attestations, which are the value of their zh.
type attesting struct{ provider.Source }

func (a attesting) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := a.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg.Attestations = []string{pkg.SHA256.Value()}
	}
	return pkg, err
}

type byValue struct{}

func (byValue) Builder(_ context.Context, ev verify.Evidence, zh checksum.Hash) (verify.Build, error) {
	if ev.Attestations[0] != zh.Value() {
		return verify.Build{}, errors.New("another archive")
	}
	return verify.Build{Repository: "https://git.example.com/" + ev.Requested}, nil
}

// TestProvenanceIsDemanded: neither a lock file, an installed package, a stamp nor a trusted cache replaces provenance.
func TestProvenanceIsDemanded(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.Cache, s.in.TrustCache = &install.Dir{Path: t.TempDir(), Stamps: t.TempDir()}, true
	s.in.LockPlatforms = platformsOf
	lock := s.ensure(t, nil).Lock // without provenance, into the cache, with a stamp
	s.in.Policy = policyOf(verify.Policy{Provenance: byValue{}})
	for name, in := range map[string]*install.Installer{
		"installed":  s.in,
		"elsewhere":  {Source: s.in.Source, Dir: newDir(t), Platform: s.in.Platform, Policy: s.in.Policy},
		"from cache": {Source: s.in.Source, Dir: newDir(t), Cache: s.in.Cache, TrustCache: true, Platform: s.in.Platform, Policy: s.in.Policy},
	} {
		if _, err := in.Ensure(t.Context(), s.want, lock); !errors.Is(err, verify.ErrProvenance) {
			t.Errorf("%s: Ensure with the lock file: %v, want %v", name, err, verify.ErrProvenance)
		}
		if _, err := in.Ensure(t.Context(), s.want, nil); !errors.Is(err, verify.ErrProvenance) {
			t.Errorf("%s: Ensure without a lock file: %v, want %v", name, err, verify.ErrProvenance)
		}
	}
	if _, err := (&install.Installer{Source: s.in.Source, LockPlatforms: platformsOf, Policy: s.in.Policy}).Lock(t.Context(), s.want, nil); !errors.Is(err, verify.ErrProvenance) {
		t.Errorf("Lock: %v, want %v", err, verify.ErrProvenance)
	}

	s.in.Source = attesting{s.in.Source}
	s.ensure(t, nil)
	again := s.ensure(t, lock) // which has all hashes
	if sel := only(t, again); sel.Fetched == 0 || sel.Reports[s.in.Platform].BuiltBy == nil {
		t.Errorf("Ensure of an installed package: %d bytes fetched, %v, want a builder", sel.Fetched, sel.Reports[s.in.Platform])
	}
	result := must.Get((&install.Installer{Source: s.in.Source, LockPlatforms: platformsOf, Policy: s.in.Policy}).Lock(t.Context(), s.want, nil))(t)
	for _, on := range platformsOf {
		want := "https://git.example.com/p0_1.1.0_" + on.String()
		if report := only(t, result).Reports[on]; report == nil || report.BuiltBy == nil || report.BuiltBy.Repository != want {
			t.Errorf("report of Lock for %s: %v, want one built from %s", on, report, want)
		}
	}
	s.in.Source, s.in.Policy = nil, policyOf(verify.Policy{})
	s.ensure(t, result.Lock)
	s.in.Policy = policyOf(verify.Policy{Provenance: byValue{}})
	if _, err := s.in.Ensure(t.Context(), s.want, result.Lock); !errors.Is(err, failure.ErrOffline) {
		t.Errorf("Ensure offline: %v, want %v", err, failure.ErrOffline)
	}
}

// TestProvenanceOfStated: a lock file gains the stated h1 only of packages with provenance.
func TestProvenanceOfStated(t *testing.T) {
	t.Parallel()
	s, _ := newOfficialSite(t, func(*regtest.Provider) {})
	policy := policyOf(verify.Policy{Provenance: byValue{}})
	options := install.Installer{Source: s.in.Source, LockPlatforms: platformsOf, Policy: policy, Stated: true}
	if _, err := options.Lock(t.Context(), s.want, nil); !errors.Is(err, verify.ErrProvenance) {
		t.Errorf("Lock of stated hashes: %v, want %v", err, verify.ErrProvenance)
	}
	options.Source = attesting{s.in.Source}
	result := must.Get(options.Lock(t.Context(), s.want, nil))(t)
	for on, report := range only(t, result).Reports {
		if report.BuiltBy == nil {
			t.Errorf("report of Lock for %s names no builder: %v", on, report)
		}
	}
}
