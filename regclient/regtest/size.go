package regtest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// pad appends spaces to the body up to size bytes.
func (a *answer) pad(size int64) {
	if more := size - a.size; more > 0 {
		a.body = parts{{size: a.size, content: a.body}, {at: a.size, size: more, content: spaces{}}}
		a.size = size
	}
}

// spaces is an endless file of spaces.
type spaces struct{}

// ReadAt implements [io.ReaderAt].
func (spaces) ReadAt(p []byte, _ int64) (int, error) {
	for n := copy(p, " "); n > 0 && n < len(p); {
		n += copy(p[n:], p[:n])
	}
	return len(p), nil
}

// acceptsGzip reports whether the client accepts gzip.
func (c *call) acceptsGzip() bool {
	return c.gunzip || strings.Contains(c.header.Get("Accept-Encoding"), "gzip")
}

// compress compresses the body, unless it is partial.
func (w *wire) compress() {
	body, size := w.content()
	if size == 0 || w.status == http.StatusPartialContent {
		return
	}
	var packed bytes.Buffer
	z := must(gzip.NewWriterLevel(&packed, gzip.BestSpeed)) // a level that there is
	_, _ = io.CopyN(z, body, size)                          // both are in memory
	_ = z.Close()
	w.body, w.size = &packed, int64(packed.Len())
	w.header.Set("Content-Encoding", "gzip")
}

// gunzips reports whether net/http would request gzip and decompress it transparently.
func gunzips(req *http.Request) bool {
	return req.Header.Get("Accept-Encoding") == "" && req.Header.Get("Range") == "" && req.Method != http.MethodHead
}

// gunzip decompresses a response as net/http does.
func gunzip(resp *http.Response) {
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Uncompressed = true
	resp.Body = &gunzipped{ReadCloser: resp.Body}
}

type gunzipped struct {
	io.ReadCloser
	z   *gzip.Reader // set by the first Read
	err error
}

// Read implements [io.Reader].
func (g *gunzipped) Read(p []byte) (int, error) {
	if g.z == nil && g.err == nil {
		g.z, g.err = gzip.NewReader(g.ReadCloser)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.z.Read(p)
}
