package mirrordir_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
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

// attested is a policy that demands such an attestation.
var attested = verify.Policy{Provenance: byValue{}}

type byValue struct{}

func (byValue) Builder(_ context.Context, ev verify.Evidence, zh checksum.Hash) (verify.Build, error) {
	if ev.Attestations[0] != zh.Value() {
		return verify.Build{}, errors.New("another archive")
	}
	return verify.Build{Repository: "https://git.example.com/" + ev.Requested}, nil
}

// TestProvenanceIsRecorded: a mirror keeps attestations, and who installs from it verifies them again.
func TestProvenanceIsRecorded(t *testing.T) {
	t.Parallel()
	reg, source := newRegistry(t)
	m, dir := newMirror(t)
	options := mirrordir.AddOptions{Policy: policyOf(attested)}
	if _, err := m.Add(t.Context(), source, wants(three, v1), options); !errors.Is(err, verify.ErrProvenance) {
		t.Fatalf("Add without attestations: %v, want %v", err, verify.ErrProvenance)
	}
	if names := files(t, dir); len(names) > 0 {
		t.Errorf("after the refusal the mirror has %v, want nothing", names)
	}
	if fetched := mustAdd(t, m, attesting{source}, wants(three, v1), options); fetched != 3 {
		t.Fatalf("Add with attestations: %d archives fetched, want 3", fetched)
	}
	reg.Reset()
	if fetched := mustAdd(t, m, source, wants(three, v1), options); fetched != 0 || reg.Count(0) != 0 {
		t.Errorf("Add again: %d fetched, requests %v, want none", fetched, reg.Requests())
	}
	if report := mustCheck(t, m, mirrordir.CheckOptions{Policy: policyOf(attested)}); len(report.Problems) > 0 {
		t.Errorf("Check: %v, want no problems", report.Problems)
	}
	for _, on := range three {
		pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, on))(t)
		report, err := provider.Download(t.Context(), m, pkg, filepath.Join(t.TempDir(), "x.zip"), provider.DownloadOptions{Policy: attested})
		if want := "https://git.example.com/alpha_1.0.0_" + on.String(); err != nil || report.BuiltBy.Repository != want || report.SignedBy == nil {
			t.Errorf("Download from the mirror for %s: %v, %v, want one built from %s", on, report, err, want)
		}
	}
	for name, damage := range map[string]damage{
		"removed": edited(recordOf(v1, linux), `"attestations"`, `"other"`),
		"changed": edited(recordOf(v1, linux), `"attestations": [`, `"attestations": ["other", `),
	} {
		damage(t, dir)
		pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		if _, err := provider.Download(t.Context(), m, pkg, filepath.Join(t.TempDir(), "x.zip"), provider.DownloadOptions{Policy: attested}); !errors.Is(err, verify.ErrProvenance) {
			t.Errorf("%s: Download from the mirror: %v, want %v", name, err, verify.ErrProvenance)
		}
		if got, err := m.RecordedPackage(t.Context(), alpha, v1, linux, attested); got != nil || err != nil {
			t.Errorf("%s: RecordedPackage is %v, %v, want none", name, got, err)
		}
		if fetched := mustAdd(t, m, attesting{source}, wants(three[:1], v1), options); fetched != 0 {
			t.Errorf("%s: Add fetched the archive, want it judged with the attestation of the source", name)
		}
	}
}

// TestProvenanceWithoutSignature: the attestation of an unsigned archive is recorded, too.
func TestProvenanceWithoutSignature(t *testing.T) {
	t.Parallel()
	_, source := newRegistry(t)
	policy := attested
	policy.AllowUnsigned = true
	unsigned := withoutSums{attesting{source}}
	m, _ := newMirror(t)
	mustAdd(t, m, unsigned, wants(three[:1], v1), mirrordir.AddOptions{Policy: policyOf(policy)})
	pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, three[0]))(t)
	report, err := provider.Download(t.Context(), m, pkg, filepath.Join(t.TempDir(), "x.zip"), provider.DownloadOptions{Policy: policy})
	if err != nil || report.BuiltBy == nil || report.SignedBy != nil {
		t.Errorf("Download from the mirror: %v, %v, want a builder and no signature", report, err)
	}
}

// withoutSums is a source whose packages are not signed.
type withoutSums struct{ provider.Source }

func (s withoutSums) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg.SumsURL, pkg.SignatureURL, pkg.Keys, pkg.MustBeSigned = "", "", nil, false
	}
	return pkg, err
}
