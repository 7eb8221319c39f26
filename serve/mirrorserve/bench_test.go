package mirrorserve_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tofureg/tofureg/serve/mirrorserve"
)

// BenchmarkHandler measures documents and archives of a mirror in a directory, and of a Cache that has them.
func BenchmarkHandler(b *testing.B) {
	m, _, _, src := filled(b)
	for of, h := range map[string]*mirrorserve.Handler{
		"mirror": {Source: m}, "cache": {Source: &mirrorserve.Cache{Source: src, Mirror: m}},
	} {
		for kind, name := range map[string]string{"index": home + "/index.json", "document": home + "/1.0.0.json", "archive": archive(v1, linux)} {
			b.Run(of+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					w := httptest.NewRecorder()
					if h.ServeHTTP(w, httptest.NewRequest("GET", "/"+name, nil)); w.Code != http.StatusOK {
						b.Fatalf("GET %s: status %d", name, w.Code)
					}
				}
			})
		}
	}
}
