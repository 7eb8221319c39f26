package addrs_test

import (
	"encoding/json"
	"fmt"
	"slices"
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

func BenchmarkVersionCompare(b *testing.B) {
	for _, pair := range [][2]string{{"1.2.3", "1.2.4"}, {"1.2.3-beta.1", "1.2.3-beta.11"}} {
		v, o := addrs.MustParseVersion(pair[0]), addrs.MustParseVersion(pair[1])
		b.Run(pair[0]+","+pair[1], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v.Compare(o) >= 0 {
					b.Fatal("wrong order")
				}
			}
		})
	}
}

func BenchmarkConstraint(b *testing.B) {
	v := addrs.MustParseVersion("5.100.0")
	for name, c := range map[string]interface {
		Allows(addrs.Version) bool
		Matcher() func(addrs.Version) bool
	}{
		"provider": addrs.MustParseProviderConstraint("~> 5.0, != 5.3.0"),
		"module":   addrs.MustParseModuleConstraint("~> 5.0, != 5.3.0"),
	} {
		b.Run(name+"/Allows", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !c.Allows(v) {
					b.Fatal("not allowed")
				}
			}
		})
		b.Run(name+"/Matcher", func(b *testing.B) {
			b.ReportAllocs()
			match := c.Matcher()
			for b.Loop() {
				if !match(v) {
					b.Fatal("not allowed")
				}
			}
		})
	}
}

// wireList is the version list of a large provider: 2,000 versions with 12 platforms each.
type wireList struct {
	Versions []struct {
		Version   string
		Protocols []string
		Platforms []struct{ OS, Arch string }
	}
}

func largeList() []byte {
	var list wireList
	list.Versions = slices.Grow(list.Versions, 2000)[:2000]
	for i := range list.Versions {
		v := &list.Versions[i]
		v.Version = fmt.Sprintf("%d.%d.%d", i%7, i%97, i)
		v.Protocols = []string{"5.0"}
		for _, os := range []string{"linux", "darwin", "windows", "freebsd"} {
			for _, arch := range []string{"amd64", "arm64", "386"} {
				v.Platforms = append(v.Platforms, struct{ OS, Arch string }{os, arch})
			}
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return b
}

// BenchmarkList compares decoding a version list with decoding, parsing and sorting it.
func BenchmarkList(b *testing.B) {
	doc := largeList()
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var list wireList
			if err := json.Unmarshal(doc, &list); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse and sort", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var list wireList
			if err := json.Unmarshal(doc, &list); err != nil {
				b.Fatal(err)
			}
			versions := make([]addrs.Version, 0, len(list.Versions))
			platforms := make([][]addrs.Platform, len(list.Versions))
			for i, w := range list.Versions {
				v, err := addrs.ParseVersion(w.Version)
				if err != nil {
					b.Fatal(err)
				}
				versions = append(versions, v)
				platforms[i] = make([]addrs.Platform, len(w.Platforms))
				for j, p := range w.Platforms {
					if platforms[i][j], err = addrs.NewPlatform(p.OS, p.Arch); err != nil {
						b.Fatal(err)
					}
				}
			}
			slices.SortFunc(versions, addrs.Version.Compare)
		}
	})
}
