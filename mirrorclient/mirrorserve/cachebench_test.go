package mirrorserve_test

import (
	"testing"

	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/provider"
)

// BenchmarkServe serves one archive of a mirror and its two documents.
func BenchmarkServe(b *testing.B) {
	m, _, _, src := filled(b)
	for name, source := range map[string]provider.Source{
		"mirror": m,
		"cache":  &mirrorserve.Cache{Source: src, Mirror: m},
	} {
		for what, path := range map[string]string{"index": home + "/index.json", "version": home + "/1.0.0.json", "archive": archive(v1, linux)} {
			b.Run(name+"/"+what, func(b *testing.B) {
				h := &mirrorserve.Handler{Source: source}
				b.ReportAllocs()
				for b.Loop() {
					if w := ask(h, "GET", "/"+path); w.Code != 200 {
						b.Fatal(w.Code)
					}
				}
			})
		}
	}
}
