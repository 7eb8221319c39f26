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

func BenchmarkCheckSignature(b *testing.B) {
	doc := gpgFile(b, "SHA256SUMS")
	for _, name := range []string{"rsa4096", "ed25519", "subkey"} {
		sig, keys := gpgFile(b, name+".sig"), gpgKeys(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := verify.CheckSignature(doc, sig, keys, today); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheck checks a package of 20 MB against a stated zh, SHA256SUMS and a
// signature, keys included.
func BenchmarkCheck(b *testing.B) {
	data, ev := bigPackage(b)
	policy := verify.Policy{Now: func() time.Time { return today }}
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		check(b, policy, ev, data)
	}
}

// BenchmarkCheckAgainstSHA256 does the same and nothing but sha256 in turn, and
// reports the speed of the one in percent of the other: the median of all turns,
// so that what else the machine does counts for little.
func BenchmarkCheckAgainstSHA256(b *testing.B) {
	data, ev := bigPackage(b)
	policy := verify.Policy{Now: func() time.Time { return today }}
	var ratios []float64
	for b.Loop() {
		start := time.Now()
		sha256.Sum256(data)
		alone := time.Since(start)
		start = time.Now()
		check(b, policy, ev, data)
		ratios = append(ratios, float64(alone)/float64(time.Since(start)))
	}
	slices.Sort(ratios)
	b.ReportMetric(100*ratios[len(ratios)/2], "%-of-sha256")
}

func check(b *testing.B, policy verify.Policy, ev verify.Evidence, data []byte) {
	b.Helper()
	r, err := policy.Check(b.Context(), ev, bytes.NewReader(data), int64(len(data)))
	must(b, err)
	if r.Trust != verify.Signed {
		b.Fatal(r.Trust)
	}
}
