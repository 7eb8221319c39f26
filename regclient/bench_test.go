package regclient_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/regclient"
)

// manyVersions returns a document like those of large providers: versions in the order of
// publication, all for the same platforms.
func manyVersions(versions, platforms int) []byte {
	var all, list []string
	for i := range platforms {
		os, arch := []string{"darwin", "freebsd", "linux", "windows"}[i%4], []string{"386", "amd64", "arm", "arm64"}[i/4%4]
		all = append(all, fmt.Sprintf(`{"os":%q,"arch":%q}`, os, arch))
	}
	for i := range versions {
		version := fmt.Sprintf("%d.%d.%d", i/200, i/10%20, i%10)
		list = append(list, fmt.Sprintf(`{"version":%q,"protocols":["5.0","6.0"],"platforms":[%s]}`, version, strings.Join(all, ",")))
	}
	return []byte(`{"versions":[` + strings.Join(list, ",") + `]}`)
}

// benchmarkList lists 2,000 versions. x-json is the time as a multiple of the time that json.Unmarshal needs
// to decode the document into a T.
func benchmarkList[T any](b *testing.B, doc []byte, list func(c *regclient.Client) (n int, err error)) {
	c := answering(b, func() []byte { return doc })
	var plain, whole time.Duration
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		var wire T
		must.Do(b, json.Unmarshal(doc, &wire))
		middle := time.Now()
		if n, err := list(c); n != 2000 {
			b.Fatalf("%d versions, %v", n, err)
		}
		plain += middle.Sub(begin)
		whole += time.Since(middle)
	}
	b.ReportMetric(float64(whole)/float64(plain), "x-json")
	b.ReportMetric(float64(whole.Microseconds())/float64(b.N), "µs/list")
}

// BenchmarkVersions lists versions with 12 platforms each.
func BenchmarkVersions(b *testing.B) {
	type wire struct {
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
	benchmarkList[wire](b, manyVersions(2000, 12), func(c *regclient.Client) (int, error) {
		versions, err := c.ProviderVersions(b.Context(), alpha)
		if err != nil {
			return 0, err
		}
		return len(versions.Versions), nil
	})
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

// BenchmarkModuleVersions lists versions of a module. "full" has members that registries add to the protocol.
func BenchmarkModuleVersions(b *testing.B) {
	type wire struct {
		Modules []struct {
			Versions []struct {
				Version string `json:"version"`
			} `json:"versions"`
		} `json:"modules"`
	}
	for _, form := range []struct{ name, prefix, more string }{
		{"bare", ``, ``},
		{"v", `v`, ``},
		{"full", ``, `,"deprecated":null,"published_at":"2026-01-01T00:00:00Z","root":{"providers":[{"name":"aws","version":">= 5.0"}],"dependencies":[]},` +
			`"submodules":[{"path":"modules/a","providers":[{"name":"aws","version":">= 5.0"}],"dependencies":[]}]`},
	} {
		b.Run(form.name, func(b *testing.B) {
			var all []string
			for i := range 2000 {
				all = append(all, fmt.Sprintf(`{"version":"%s%d.%d.%d"%s}`, form.prefix, i/200, i/10%20, i%10, form.more))
			}
			doc := `{"modules":[{"source":"acme/network/aws","versions":[` + strings.Join(all, ",") + `]}]}`
			benchmarkList[wire](b, []byte(doc), func(c *regclient.Client) (int, error) {
				versions, err := c.ModuleVersions(b.Context(), network)
				if err != nil {
					return 0, err
				}
				return len(versions.Versions), nil
			})
		})
	}
}

func BenchmarkModuleLocation(b *testing.B) {
	doc := []byte(`{"location":"git::https://git.example.com/network.git//modules/subnet?ref=v1.0.0"}`)
	c := answering(b, func() []byte { return doc })
	b.ReportAllocs()
	for b.Loop() {
		must.Get(c.ModuleLocation(b.Context(), network, v100))(b)
	}
}
