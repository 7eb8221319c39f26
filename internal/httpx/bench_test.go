package httpx_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/tofureg/tofureg/internal/httpx"
)

// BenchmarkRequest measures what a request costs beside the transport: for a document, for one behind
// two redirects, for a missing one, and for a package of 64 KiB.
func BenchmarkRequest(b *testing.B) {
	document, archive := random(2<<10, 1), random(64<<10, 2)
	answer := func(r *http.Request) *http.Response {
		switch r.URL.Path {
		case "/moved":
			return reply(302, http.NoBody, 0, "Location: https://cdn.example.com/moved/again")
		case "/moved/again":
			return reply(302, http.NoBody, 0, "Location: https://cdn.example.com/document")
		case "/missing":
			return reply(404, io.NopCloser(bytes.NewReader([]byte(`{"errors":["not found"]}`))), -1, "Content-Type: application/json")
		case "/archive":
			return reply(200, io.NopCloser(bytes.NewReader(archive)), int64(len(archive)))
		}
		return reply(200, io.NopCloser(bytes.NewReader(document)), int64(len(document)))
	}
	transport := handler(func(_ int, r *http.Request) (*http.Response, error) { return answer(r), nil })
	var shared httpx.Shared[int]
	ask := func(c *httpx.Client, r httpx.Request) error {
		_, err := c.Document(context.Background(), r)
		return err
	}
	for _, job := range []struct {
		name, path string
		fails      bool
		ask        func(*httpx.Client, httpx.Request) error
	}{
		{"document", "/document", false, ask},
		{"redirects", "/moved", false, ask},
		{"missing", "/missing", true, ask},
		{"shared", "/document", false, func(c *httpx.Client, r httpx.Request) error {
			_, err := shared.Get(context.Background(), c, r, nil, func(context.Context, *httpx.Response) (int, error) { return 1, nil })
			return err
		}},
		{"archive", "/archive", false, func(c *httpx.Client, r httpx.Request) error {
			body, err := c.Open(context.Background(), r)
			if err != nil {
				return err
			}
			defer body.Close()
			_, err = io.Copy(io.Discard, body)
			return err
		}},
	} {
		b.Run(job.name, func(b *testing.B) {
			c, r := client(b, transport), withToken("https://registry.example.com"+job.path)
			b.ReportAllocs()
			for b.Loop() {
				if err := job.ask(c, r); (err != nil) != job.fails {
					b.Fatalf("request for %s: error %v", job.path, err)
				}
			}
		})
	}
}
