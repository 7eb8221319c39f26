package addrs_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
)

func BenchmarkParse(b *testing.B) {
	parsers := map[string]func(string) error{
		"provider":       func(s string) error { _, err := addrs.ParseProvider(s); return err },
		"version":        func(s string) error { _, err := addrs.ParseVersion(s); return err },
		"module version": func(s string) error { _, err := addrs.ParseModuleVersion(s); return err },
		"platform":       func(s string) error { _, err := addrs.ParsePlatform(s); return err },
	}
	for kind, inputs := range map[string][]string{
		"provider":       {"hashicorp/aws", "registry.example.com/acme/alpha", "HashiCorp/AWS", "böb.example.com/acme/über"},
		"version":        {"1.2.3", "5.100.0", "1.2.3-beta.1"},
		"module version": {"v1.2.3", "1.2.3-beta.1"},
		"platform":       {"linux_amd64"},
	} {
		for _, s := range inputs {
			parse := parsers[kind]
			b.Run(kind+"/"+s, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := parse(s); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
