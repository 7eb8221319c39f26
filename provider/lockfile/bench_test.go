package lockfile_test

import (
	"fmt"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// large is a lock of 50 providers with 30 hashes each.
func large(tb testing.TB) *lockfile.File {
	f := &lockfile.File{}
	for i := range 50 {
		p := addrs.MustParseProvider(fmt.Sprintf("registry.example.com/acme/p%02d", i))
		hashes := []checksum.Hash{h1a}
		for j := range 29 {
			hashes = append(hashes, zh(i*100+j))
		}
		merge(tb, f, p, v1, constraint("~> 1.0"), hashes...)
	}
	return f
}

func BenchmarkParse(b *testing.B) {
	data := large(b).Bytes()
	for name, parse := range map[string]func([]byte, string) (*lockfile.File, error){"strict": lockfile.Parse, "lenient": lockfile.ParseLenient} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(data, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEdit changes one of 50 entries of a lenient file and writes it.
func BenchmarkEdit(b *testing.B) {
	f := parseLenient(b, string(large(b).Bytes()))
	p := addrs.MustParseProvider("registry.example.com/acme/p25")
	b.ReportAllocs()
	for b.Loop() {
		c := f.Clone()
		merge(b, c, p, v1, constraint("~> 1.0"), zh3)
		c.Bytes()
	}
}
