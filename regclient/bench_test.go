package regclient_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/must"
)

// manyVersions returns a document like those of large providers: versions in the order of
// publication, all for the same platforms.
func manyVersions(versions, platforms int) []byte {
	type platform struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	}
	type version struct {
		Version   string     `json:"version"`
		Protocols []string   `json:"protocols"`
		Platforms []platform `json:"platforms"`
	}
	all := make([]platform, platforms)
	for i := range all {
		all[i] = platform{[]string{"darwin", "freebsd", "linux", "windows"}[i%4], []string{"386", "amd64", "arm", "arm64"}[i/4%4]}
	}
	var list []version
	for i := range versions {
		list = append(list, version{fmt.Sprintf("%d.%d.%d", i/200, i/10%20, i%10), []string{"5.0", "6.0"}, all})
	}
	doc, err := json.Marshal(map[string]any{"versions": list})
	if err != nil {
		panic(err)
	}
	return doc
}

// BenchmarkVersions lists 2,000 versions with 12 platforms each. x-json is the time as a multiple of
// the time that json.Unmarshal needs.
func BenchmarkVersions(b *testing.B) {
	doc := manyVersions(2000, 12)
	c := answering(b, func() []byte { return doc })
	var plain, whole time.Duration
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		var wire struct {
			Versions []struct {
				Version   string   `json:"version"`
				Protocols []string `json:"protocols"`
				Platforms []struct {
					OS   string `json:"os"`
					Arch string `json:"arch"`
				} `json:"platforms"`
			} `json:"versions"`
			Warnings []string `json:"warnings"`
		}
		must.Do(b, json.Unmarshal(doc, &wire))
		middle := time.Now()
		versions, err := c.ProviderVersions(b.Context(), alpha)
		if err != nil || len(versions.List) != 2000 {
			b.Fatal(err)
		}
		plain += middle.Sub(begin)
		whole += time.Since(middle)
	}
	b.ReportMetric(float64(whole)/float64(plain), "x-json")
	b.ReportMetric(float64(whole.Microseconds())/float64(b.N), "µs/list")
}

func BenchmarkPackage(b *testing.B) {
	doc := []byte(`{"os":"linux","arch":"amd64","shasum":"` + goodSum + `","protocols":["5.0"],"filename":"f.zip","download_url":"/f.zip",` +
		`"shasums_url":"/sums","shasums_signature_url":"/sig","signing_keys":{"gpg_public_keys":[{"key_id":"A","ascii_armor":"armor"}]}}`)
	c := answering(b, func() []byte { return doc })
	b.ReportAllocs()
	for b.Loop() {
		must.Get(c.ProviderPackage(b.Context(), alpha, v120, linux))(b)
	}
}

// BenchmarkModuleVersions lists 2,000 versions of a module. x-json is the time as a multiple of the
// time that json.Unmarshal needs. "full" has members that registries add to the protocol.
func BenchmarkModuleVersions(b *testing.B) {
	for _, form := range []struct{ name, more string }{
		{"bare", ``},
		{"v", ``},
		{"full", `,"deprecated":null,"published_at":"2026-01-01T00:00:00Z","root":{"providers":[{"name":"aws","version":">= 5.0"}],"dependencies":[]},` +
			`"submodules":[{"path":"modules/a","providers":[{"name":"aws","version":">= 5.0"}],"dependencies":[]}]`},
	} {
		b.Run(form.name, func(b *testing.B) {
			prefix := ""
			if form.name == "v" {
				prefix = "v"
			}
			doc := []byte(`{"modules":[{"source":"acme/network/aws","versions":[`)
			for i := range 2000 {
				if i > 0 {
					doc = append(doc, ',')
				}
				doc = fmt.Appendf(doc, `{"version":"%s%d.%d.%d"%s}`, prefix, i/200, i/10%20, i%10, form.more)
			}
			benchmarkModuleVersions(b, append(doc, `]}]}`...))
		})
	}
}

func benchmarkModuleVersions(b *testing.B, doc []byte) {
	c := answering(b, func() []byte { return doc })
	var plain, whole time.Duration
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		var wire struct {
			Modules []struct {
				Versions []struct {
					Version string `json:"version"`
				} `json:"versions"`
			} `json:"modules"`
		}
		must.Do(b, json.Unmarshal(doc, &wire))
		middle := time.Now()
		versions, err := c.ModuleVersions(b.Context(), network)
		if err != nil || len(versions.List) != 2000 {
			b.Fatal(err)
		}
		plain += middle.Sub(begin)
		whole += time.Since(middle)
	}
	b.ReportMetric(float64(whole)/float64(plain), "x-json")
	b.ReportMetric(float64(whole.Microseconds())/float64(b.N), "µs/list")
}

func BenchmarkModuleLocation(b *testing.B) {
	doc := []byte(`{"location":"git::https://git.example.com/network.git//modules/subnet?ref=v1.0.0"}`)
	c := answering(b, func() []byte { return doc })
	b.ReportAllocs()
	for b.Loop() {
		must.Get(c.ModuleLocation(b.Context(), network, v100))(b)
	}
}
