package attest_test

import (
	"context"
	"crypto/sha256"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/contrib/attest/internal/attesttest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

type attestation = attesttest.Attestation

var (
	sigstore, newInstance = attesttest.Shared, attesttest.New
	good, with            = attesttest.Good, attesttest.With
	archive, repository   = attesttest.Archive, attesttest.Repository

	demo      = addrs.MustParseProvider("acme/demo")
	other     = checksum.ZHSum(sha256.Sum256([]byte("another archive")))
	requested = "demo_1.2.0_linux_amd64"
)

// verifier returns a verifier for the shared instance.
func verifier() *attest.Verifier {
	return &attest.Verifier{Root: sigstore().JSON, Rule: attest.OnGitHub}
}

// builder asks v who built the archive.
func builder(v *attest.Verifier, bundles ...string) (verify.Build, error) {
	return v.Provenance(demo).Builder(context.Background(), verify.Evidence{Requested: requested, Attestations: bundles}, archive)
}

func sumOf(data []byte) [32]byte { return sha256.Sum256(data) }
