package doccache_test

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofureg/tofureg/transport/doccache"
)

// TestNetwork: over a real connection with compression and chunks, documents are cached as the caller
// sees them, and connections are reused.
func TestNetwork(t *testing.T) {
	t.Parallel()
	const body = `{"versions":[]}`
	var requests, unchanged, down atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		if down.Load() > 0 {
			http.Error(w, strings.Repeat("busy ", 100), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Etag", `"gz"`)
		w.Header().Set("Vary", "Accept-Encoding")
		if req.Header.Get("If-None-Match") == `"gz"` {
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, body)
		w.(http.Flusher).Flush() // from here on in chunks
		z.Close()
	}))
	var connections atomic.Int32
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	srv.StartTLS()
	defer srv.Close()

	dir := t.TempDir()
	tr := &doccache.Transport{Base: srv.Client().Transport, Dir: dir, StaleIfError: time.Hour}
	for i := range 3 {
		resp, got := get(t, tr, request(t, srv.URL+"/v1"))
		if got != body || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%d: %q, %v", i, got, resp.Header)
		}
	}
	down.Store(1)
	if _, got := get(t, tr, request(t, srv.URL+"/v1")); got != body {
		t.Errorf("while the server is busy: %q", got)
	}
	if requests.Load() != 4 || unchanged.Load() != 2 {
		t.Errorf("%d requests, %d of them unchanged", requests.Load(), unchanged.Load())
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	tr.CloseIdleConnections()
}
