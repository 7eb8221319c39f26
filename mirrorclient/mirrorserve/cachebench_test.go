package mirrorserve_test

import (
	"testing"

	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/provider"
)

// BenchmarkServe is what a client costs that asks for what the mirror has: one archive and the
// two documents that lead to it.
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
