package attest

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// VerifyDigest verifies a bundle about a file with this digest, because the bundles in the test data of sigstore-go are not
// about a SHA-256.
func (v *Verifier) VerifyDigest(p addrs.Provider, bundle, algorithm, digest, requested string) (verify.Build, error) {
	library, err := v.library()
	if err != nil {
		return verify.Build{}, err
	}
	return provenance{v, v.identity(p)}.verify(library, bundle, algorithm, digest, requested)
}
