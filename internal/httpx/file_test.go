package httpx_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"net/http"
	"testing"

	"github.com/tofureg/tofureg/internal/httpx"
)

// file is a server of one file that interrupts the first downloads.
type file struct {
	data   []byte
	etag   string // "": none
	date   string // Last-Modified, "": none
	now    string // Date, "": none
	chunks bool   // no Content-Length, no total

	cuts  []int                                // offset in the file at which the nth answer ends
	how   func(w *wire)                        // changes the body of an interrupted answer; if nil, it ends with a reset
	rest  func(r *http.Request) *http.Response // if not nil, answers all requests after the first
	steps []string                             // "Range|If-Range" of each request
	sent  int                                  // bytes, all answers together
}

func (f *file) headers() []string {
	var h []string
	if f.etag != "" {
		h = append(h, "ETag: "+f.etag)
	}
	if f.date != "" {
		h = append(h, "Last-Modified: "+f.date)
	}
	if f.now != "" {
		h = append(h, "Date: "+f.now)
	}
	return h
}

func (f *file) handler(n int, r *http.Request) (*http.Response, error) {
	f.steps = append(f.steps, r.Header.Get("Range")+"|"+r.Header.Get("If-Range"))
	if n > 0 && f.rest != nil {
		return f.rest(r), nil
	}
	return f.part(n, r), nil
}

// part returns the nth answer: the requested range, up to its cut.
func (f *file) part(n int, r *http.Request) *http.Response {
	from, code, headers := 0, 200, f.headers()
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
		total := fmt.Sprint(len(f.data))
		if f.chunks {
			total = "*"
		}
		headers = append(headers, fmt.Sprintf("Content-Range: bytes %d-%d/%s", from, len(f.data)-1, total))
		code = 206
	}
	length := int64(len(f.data) - from)
	if f.chunks {
		length = -1
	}
	end := len(f.data)
	w := &wire{ctx: r.Context()}
	if n < len(f.cuts) {
		end = max(from, f.cuts[n])
		w.end = errReset
		if f.how != nil {
			w.end = nil
			f.how(w)
		}
	}
	w.data = bytes.NewReader(f.data[from:end])
	f.sent += end - from
	return reply(code, w, length, headers...)
}

// download reads and hashes the body of Open.
func download(t testing.TB, c *httpx.Client, r httpx.Request) (got []byte, sum hash.Hash, b *httpx.Body, err error) {
	t.Helper()
	r.Limit = 0
	b, err = c.Open(t.Context(), r)
	if err != nil {
		return nil, nil, nil, err
	}
	sum = sha256.New()
	got, err = io.ReadAll(io.TeeReader(b, sum))
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	return got, sum, b, err
}

const pkg = "https://releases.example.com/pkg.zip"
