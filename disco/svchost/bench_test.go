package svchost_test

import (
	"testing"

	"github.com/tofureg/tofureg/disco/svchost"
)

func BenchmarkParse(b *testing.B) {
	for name, s := range map[string]string{
		"plain": "registry.example.com", "port": "registry.example.com:8443",
		"upper": "Registry.Example.com", "unicode": "böb.example.com",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := svchost.Parse(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
