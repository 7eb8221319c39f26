package verify_test

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// bigPackage is a package of 20 MB. Its line is in the SHA256SUMS of testdata, which gpg
// has signed with an RSA 4096 key.
func bigPackage(b *testing.B) ([]byte, verify.Evidence) {
	b.Helper()
	data := make([]byte, 20_000_000)
	rnd := rand.NewChaCha8([32]byte{})
	_, _ = rnd.Read(data)
	return data, verify.Evidence{
		Filename:  "terraform-provider-test_1.2.3_linux_arm64.zip",
		Requested: "test_1.2.3_linux_arm64",
		Size:      int64(len(data)),
		Hashes:    []checksum.Hash{checksum.ZHSum(sha256.Sum256(data))},
		Sums:      gpgFile(b, "SHA256SUMS"),
		Signature: gpgFile(b, "rsa4096.sig"),
		Keys:      gpgKeys(b, "rsa4096"),
	}
}

// BenchmarkCheckAgainstSHA256 checks a package of 20 MB against a stated zh, SHA256SUMS and a signature, keys
// included, and does nothing but sha256 in turn. It reports the speed of the one in percent of the other: the
// median of all turns, so that what else the machine does counts for little.
func BenchmarkCheckAgainstSHA256(b *testing.B) {
	data, ev := bigPackage(b)
	policy := verify.Policy{Now: func() time.Time { return today }}
	var ratios []float64
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		sha256.Sum256(data)
		alone := time.Since(start)
		start = time.Now()
		r, err := policy.Check(b.Context(), ev, bytes.NewReader(data), int64(len(data)))
		if ratios = append(ratios, float64(alone)/float64(time.Since(start))); err != nil || r.Trust != verify.Signed {
			b.Fatal(r, err)
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(100*ratios[len(ratios)/2], "%-of-sha256")
}
