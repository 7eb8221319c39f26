package doccache_test

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/transport/doccache"
)

// TestPassed: other requests and their answers are passed on unchanged.
func TestPassed(t *testing.T) {
	t.Parallel()
	const archive = "https://files.example.com/terraform-provider-alpha_1.0.0_linux_amd64.zip"
	tests := []struct {
		name, method, url string
		header            http.Header
	}{
		{"http", "GET", "http://registry.example.com/v1", nil},
		{"HEAD", "HEAD", doc, nil},
		{"POST", "POST", doc, nil},
		{"archive", "GET", archive, nil},
		{"tar.gz", "GET", "https://files.example.com/a.tar.GZ", nil},
		{"Range", "GET", doc, http.Header{"Range": {"bytes=0-1"}}},
		{"If-None-Match", "GET", doc, http.Header{"If-None-Match": {`"a"`}}},
		{"If-Modified-Since", "GET", doc, http.Header{"If-Modified-Since": {date(0)}}},
		{"no-store", "GET", doc, http.Header{"Cache-Control": {"no-store"}}},
		{"no-cache", "GET", doc, http.Header{"Cache-Control": {"no-cache"}}},
		{"Pragma", "GET", doc, http.Header{"Pragma": {"no-cache"}}},
		{"presigned", "GET", doc + "?X-Amz-Signature=abc", nil},
		{"token in the query", "GET", doc + "?limit=1&token=abc", nil},
		{"invalid query", "GET", doc + "?limit=%zz", nil},
	}
	for _, test := range tests {
		body := io.NopCloser(strings.NewReader(`{}`))
		var got []*http.Request
		ok := edited(answer(http.StatusOK, headers("Cache-Control", "max-age=60"), ""), func(resp *http.Response) { resp.Body = body })
		dir := t.TempDir()
		tr := &doccache.Transport{Dir: dir, Base: webtest.Handler(func(n int, req *http.Request) (*http.Response, error) {
			got = append(got, req)
			return ok(n, req)
		})}
		req := request(t, test.url)
		req.Method, req.Header = test.method, test.header
		for i := range 2 {
			resp := must.Get(tr.RoundTrip(req))(t)
			if resp.Body != body || len(got) != i+1 || got[i] != req || resp.Header.Get("Cache-Status") != "" {
				t.Errorf("%s: the request or its answer was changed", test.name)
			}
		}
		if s := tr.Stats(); s != (doccache.Stats{}) || len(entries(t, dir)) > 0 {
			t.Errorf("%s: %+v, entries %v", test.name, s, entries(t, dir))
		}
	}
}

// TestPackagePassed: a package is passed on even if it looks like a document, also by a transport between
// the client and the cache.
func TestPackagePassed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := always(headers("Cache-Control", "max-age=60", "Content-Type", "application/json"), `{}`)
	tr := &doccache.Transport{Dir: dir, Base: server}
	between := webtest.Handler(func(_ int, r *http.Request) (*http.Response, error) { return tr.RoundTrip(r.Clone(r.Context())) })
	client := &httpx.Client{HTTP: &http.Client{Transport: between}}
	r := httpx.Request{URL: must.Get(url.Parse(doc))(t), Limit: 100}
	for range 2 {
		must.Do(t, must.Get(client.Open(t.Context(), r))(t).Close())
	}
	if s := tr.Stats(); count(server) != 2 || s != (doccache.Stats{}) || len(entries(t, dir)) > 0 {
		t.Errorf("two downloads: %d requests, %+v, entries %v; want 2 requests and nothing cached", count(server), s, entries(t, dir))
	}
	for range 2 {
		must.Get(client.Document(t.Context(), r))(t)
	}
	if s := tr.Stats(); count(server) != 3 || s.Misses != 1 || s.Hits != 1 {
		t.Errorf("two requests for the document: %d requests, %+v; want a miss and a hit", count(server)-2, s)
	}
}

// TestZero: without a directory all requests are passed on.
func TestZero(t *testing.T) {
	t.Parallel()
	tr := &doccache.Transport{Base: always(headers("Cache-Control", "max-age=60"), `{}`)}
	want(t, tr, doc, `{}`, 1)
	want(t, tr, doc, `{}`, 2)
	tr.CloseIdleConnections()
	(&doccache.Transport{}).CloseIdleConnections()
}

// TestStored checks which answers are cached.
func TestStored(t *testing.T) {
	t.Parallel()
	type stored struct {
		Name                    string
		Kept                    bool
		Status                  int
		Header, Body, Path, URL string // Header has names and values, between "|"; the path and the URL of the request, if they are others
	}
	const text = "Content-Type|text/plain"
	tests := append(casetest.Read[stored](t, "stored.txt"),
		stored{Name: "largest", Header: text, Body: strings.Repeat("x", doccache.MaxDocument), Kept: true},
		stored{Name: "the largest headers", Header: text + "|Etag|" + strings.Repeat("x", doccache.MaxHead-300), Body: `{}`, Kept: true},
		stored{Name: "larger headers", Header: text + "|Etag|" + strings.Repeat("x", doccache.MaxHead), Body: `{}`},
		stored{Name: "shorter than stated", Body: `{}`},
		stored{Name: "longer than stated", Body: `{}`},
		stored{Name: "until the connection ends", Body: `{}`},
		stored{Name: "in chunks", Body: `{}`, Kept: true},
		stored{Name: "decompressed", Body: `{}`, Kept: true},
		stored{Name: "over HTTP/2", Body: `{}`, Kept: true},
		stored{Name: "cut off", Header: text, Body: "text"},
	)
	set := map[string]func(*http.Response){
		"shorter than stated":       func(r *http.Response) { r.ContentLength = 3 },
		"longer than stated":        func(r *http.Response) { r.ContentLength = 1 },
		"until the connection ends": func(r *http.Response) { r.ContentLength = -1 },
		"in chunks":                 func(r *http.Response) { r.ContentLength, r.TransferEncoding = -1, []string{"chunked"} },
		"decompressed":              func(r *http.Response) { r.ContentLength, r.Uncompressed = -1, true },
		"over HTTP/2":               func(r *http.Response) { r.ContentLength, r.ProtoMajor = -1, 2 },
		"cut off": func(r *http.Response) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("te"), iotest.ErrReader(io.ErrUnexpectedEOF)))
		},
	}
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			header := headers()
			if test.Header != "" {
				header = headers(strings.Split(test.Header, "|")...)
			}
			o := webtest.Serve(edited(answer(cmp.Or(test.Status, http.StatusOK), header, test.Body), set[test.Name]))
			dir := t.TempDir()
			url := doc
			if test.Path != "" {
				url = "https://registry.example.com" + test.Path
			}
			url = cmp.Or(test.URL, url)
			resp := must.Get((&doccache.Transport{Base: o, Dir: dir}).RoundTrip(request(t, url)))(t)
			_, _ = io.ReadAll(resp.Body) // an error is what some cases are about
			resp.Body.Close()
			if n := len(entries(t, dir)); n != map[bool]int{true: 1}[test.Kept] {
				t.Errorf("%d entries", n)
			}
			checkFiles(t, dir)
			if !test.Kept {
				return
			}
			resp, body := get(t, &doccache.Transport{Base: o, Dir: dir, Offline: true}, request(t, url))
			wantBody := test.Body
			if resp.StatusCode/100 == 3 {
				wantBody = ""
			}
			for _, name := range []string{"Location", "X-Terraform-Get", "Content-Type"} {
				if got := resp.Header.Get(name); got != header.Get(name) {
					t.Errorf("%s %q, want %q", name, got, header.Get(name))
				}
			}
			if body != wantBody {
				t.Errorf("cached %.99q, want %.99q", body, wantBody)
			}
		})
	}
}

// TestNeverMixed: answers to different credentials are separate. Headers that are not credentials make
// no difference.
func TestNeverMixed(t *testing.T) {
	t.Parallel()
	o := webtest.Serve(numbered("Cache-Control", "max-age=60"))
	dir := t.TempDir()
	ask := func(list ...string) string {
		_, body := get(t, &doccache.Transport{Base: o, Dir: dir}, request(t, doc, list...))
		return body
	}
	different := [][]string{
		nil,
		{"Authorization", "Bearer s3cr3t-a"},
		{"Authorization", "Bearer s3cr3t-b"},
		{"Authorization", "Basic s3cr3t-a"},
		{"Cookie", "s3cr3t-a"},
		{"X-Api-Key", "s3cr3t-a"},
		{"Private-Token", "s3cr3t-a"},
		{"Authorization", "Bearer s3cr3t-a", "Cookie", "s3cr3t-a"},
		{"Accept", "application/json"},
		{"Accept", "text/plain"},
	}
	for round := range 2 {
		for i, list := range different {
			if got, want := ask(list...), fmt.Sprintf(`{"n":%d}`, i+1); got != want {
				t.Errorf("round %d, %q: %s, want %s", round, list, got, want)
			}
		}
	}
	for _, list := range [][]string{{"Referer", "x"}, {"Traceparent", "x"}, {"X-Request-Id", "x"}} {
		if got := ask(list...); got != `{"n":1}` {
			t.Errorf("%q: %s, want the shared answer", list, got)
		}
	}
	for i, u := range []string{
		"https://user:s3cr3t-a@registry.example.com/v1/providers/acme/alpha/versions",
		"https://registry.example.com:8/v1/providers/acme/alpha/versions",
		"https://registry.example.com:8443/v1/providers/acme/alpha/versions",
		"https://registry.example.com/v1/providers/acme/alpha/versions/",
		"https://registry.example.com/v1/providers/acme/alpha/versions?page=2",
		"https://registry.example.com/v1/providers/acme/%61lpha/versions",
	} {
		_, body := get(t, &doccache.Transport{Base: o, Dir: dir}, request(t, u))
		if want := fmt.Sprintf(`{"n":%d}`, len(different)+i+1); body != want {
			t.Errorf("%s: %s, want %s", u, body, want)
		}
	}
	_, body := get(t, &doccache.Transport{Base: o, Dir: dir}, request(t, "https://Registry.Example.com:443/v1/providers/acme/alpha/versions"))
	if body != `{"n":1}` {
		t.Errorf("another spelling of the host: %s", body)
	}
	for _, secret := range []string{"s3cr3t", "user", "registry.example.com", "acme"} {
		if containsText(t, dir, secret) {
			t.Errorf("%q is in the directory", secret)
		}
	}
	checkFiles(t, dir)
}

// TestVary: an answer that varies by a header is used for requests with the same header.
func TestVary(t *testing.T) {
	t.Parallel()
	o := webtest.Serve(numbered("Cache-Control", "max-age=60", "Vary", "user-agent, X-None", "Set-Cookie", "session=s3cr3t"))
	dir := t.TempDir()
	tr := &doccache.Transport{Base: o, Dir: dir}
	want(t, tr, doc, `{"n":1}`, 1, "User-Agent", "one-s3cr3t")
	resp := want(t, tr, doc, `{"n":1}`, 1, "User-Agent", "one-s3cr3t")
	if resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("Vary") == "" {
		t.Errorf("headers %v", resp.Header)
	}
	want(t, tr, doc, `{"n":2}`, 2, "User-Agent", "two")
	want(t, tr, doc, `{"n":2}`, 2, "User-Agent", "two")
	want(t, tr, doc, `{"n":3}`, 3)
	if containsText(t, dir, "s3cr3t") {
		t.Error("a header of the request or a cookie is in the directory")
	}
}

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
