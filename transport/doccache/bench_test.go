package doccache_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

// read makes a request and discards the answer.
func read(b *testing.B, tr *doccache.Transport, req *http.Request) {
	resp := must.Get(tr.RoundTrip(req))(b)
	must.Get(io.Copy(io.Discard, resp.Body))(b)
	resp.Body.Close()
}

// BenchmarkHit reads cached documents of several sizes.
func BenchmarkHit(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			o := always(headers("Cache-Control", "max-age=86400", "Etag", `"a"`), `"`+strings.Repeat("x", size-2)+`"`)
			tr := &doccache.Transport{Base: o, Dir: b.TempDir()}
			req := request(b, doc, "Authorization", "Bearer a", "Accept", "application/json", "User-Agent", "tofureg")
			read(b, tr, req)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				read(b, tr, req)
			}
			if s := tr.Stats(); s.Misses != 1 {
				b.Errorf("%+v", s)
			}
		})
	}
}
