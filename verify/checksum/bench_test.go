package checksum_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/tofureg/tofureg/verify/checksum"
)

func BenchmarkParseHash(b *testing.B) {
	for _, text := range []string{zhText, h1Text} {
		b.Run(text[:2], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := checksum.ParseHash(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkH1Zip(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 40<<20)
	for i := range content {
		content[i] = byte(rnd.ExpFloat64() * 20)
	}
	data := zipOf(b, file{"terraform-provider-test_v1.2.3", string(content), 0o755}, file{"README.md", "text", 0})
	b.ReportAllocs()
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, _, err := checksum.H1Zip(b.Context(), bytes.NewReader(data), int64(len(data)), checksum.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
