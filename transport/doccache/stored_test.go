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
	plain := headers()
	tests := []struct {
		name   string
		path   string
		url    string // if not empty, instead of path
		status int
		header http.Header
		body   string
		set    func(*http.Response)
		kept   bool
	}{
		{name: "JSON", header: plain, body: `{}`, kept: true},
		{name: "JSON with parameters", header: headers("Content-Type", "Application/JSON; charset=utf-8"), body: `{}`, kept: true},
		{name: "JSON of a kind", header: headers("Content-Type", "application/vnd.x+json"), body: `[]`, kept: true},
		{name: "invalid JSON", header: plain, body: `{"versions":[`},
		{name: "empty JSON", header: plain, body: ""},
		{name: "an error page", header: plain, body: "<html>"},
		{name: "text", header: headers("Content-Type", "text/plain"), body: "x", kept: true},
		{name: "largest", header: headers("Content-Type", "text/plain"), body: strings.Repeat("x", doccache.MaxDocument), kept: true},
		{name: "empty text", header: headers("Content-Type", "text/plain"), body: "", kept: true},
		{name: "a page of a module", header: headers("Content-Type", "text/html; charset=utf-8"), body: `<meta name="terraform-get" content="/a.tgz">`, kept: true},
		{name: "a page of a module with a token", header: headers("Content-Type", "text/html"), body: `<meta name="terraform-get" content="/a.tgz?a=b&amp;token=x">`},
		{name: "a login page", header: headers("Content-Type", "Text/HTML"), body: "<title>Sign in</title>"},
		{name: "a login page for checksums", path: "/a_SHA256SUMS", header: headers("Content-Type", "text/html"), body: "<title>Sign in</title>"},
		{name: "zip", header: headers("Content-Type", "application/zip"), body: "PK"},
		{name: "anything", header: headers("Content-Type", "application/octet-stream"), body: "x"},
		{name: "no type", header: headers("Content-Type", ""), body: "x"},
		{name: "checksums", path: "/a_SHA256SUMS", header: headers("Content-Type", "binary/octet-stream"), body: "x", kept: true},
		{name: "a signature", path: "/a_SHA256SUMS.sig", header: headers("Content-Type", "application/octet-stream"), body: "\x00", kept: true},
		{name: "an armored signature", path: "/a_SHA256SUMS.asc", header: headers("Content-Type", ""), body: "x", kept: true},
		{name: "a page of a list", path: "/v1?limit=10&offset=20", header: plain, body: `{}`, kept: true},
		{name: "compressed on request", header: headers("Content-Encoding", "gzip"), body: `{}`},
		{name: "not found", status: 404, header: headers("Cache-Control", "max-age=60"), body: `{}`},
		{name: "partial", status: 206, header: plain, body: `{}`},
		{name: "no-store", header: headers("Cache-Control", "max-age=60, No-Store"), body: `{}`},
		{name: "vary", header: headers("Vary", "Accept, Origin"), body: `{}`, kept: true},
		{name: "vary by all", header: headers("Vary", "Accept, *"), body: `{}`},
		{name: "vary by what differs each time", header: headers("Vary", "x-request-id"), body: `{}`},
		{name: "vary by one many times", header: headers("Vary", strings.Repeat("X-A, ", 100)), body: `{}`, kept: true},
		{name: "the largest headers", header: headers("Content-Type", "text/plain", "Etag", strings.Repeat("x", doccache.MaxHead-300)), body: `{}`, kept: true},
		{name: "larger headers", header: headers("Content-Type", "text/plain", "Etag", strings.Repeat("x", doccache.MaxHead)), body: `{}`},
		{name: "a presigned URL", header: plain, body: `{"download_url":"https://s3.example.com/x?a=b\u0026X-Amz-Signature=abc"}`},
		{name: "a URL signed by Alibaba", header: plain, body: `{"download_url":"https://x.example.com/a?sign=abc"}`},
		{name: "a URL with a key", header: plain, body: `{"download_url":"https://x.example.com/a?page=1&apikey=abc"}`},
		{name: "a URL signed by Akamai", header: plain, body: `{"download_url":"https:\/\/x.example.com\/a?hdnts=exp=1~hmac=abc"}`},
		{name: "a URL of Backblaze B2", header: plain, body: `{"download_url":"\/file\/a?Authorization=abc"}`},
		{name: "a URL with escapes", header: plain, body: `{"download_url":"https://x.example.com/a?ref=v1\u0026%73ign=abc"}`},
		{name: "an escaped question mark", header: plain, body: `{"download_url":"https://x.example.com/a\u003fsign=abc"}`},
		{name: "an escaped equals sign", header: plain, body: `{"download_url":"https://x.example.com/a?sign\u003Dabc"}`},
		{name: "a URL with a page", header: plain, body: `{"next":"/v1/x?limit=1&offset=2","more":"/v1/x?limit=1\u0026cursor=2","about":"is it? a = b; c == d"}`, kept: true},
		{name: "an Azure URL", header: plain, body: `{"download_url":"https://x.example.com/?sv=1\u0026sig=abc"}`},
		{name: "shorter than stated", header: plain, body: `{}`, set: func(r *http.Response) { r.ContentLength = 3 }},
		{name: "longer than stated", header: plain, body: `{}`, set: func(r *http.Response) { r.ContentLength = 1 }},
		{name: "until the connection ends", header: plain, body: `{}`, set: func(r *http.Response) { r.ContentLength = -1 }},
		{name: "in chunks", header: plain, body: `{}`, kept: true, set: func(r *http.Response) { r.ContentLength, r.TransferEncoding = -1, []string{"chunked"} }},
		{name: "decompressed", header: plain, body: `{}`, kept: true, set: func(r *http.Response) { r.ContentLength, r.Uncompressed = -1, true }},
		{name: "over HTTP/2", header: plain, body: `{}`, kept: true, set: func(r *http.Response) { r.ContentLength, r.ProtoMajor = -1, 2 }},
		{name: "cut off", header: headers("Content-Type", "text/plain"), body: "text", set: func(r *http.Response) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("te"), iotest.ErrReader(io.ErrUnexpectedEOF)))
		}},
		{name: "location of a module", status: 204, header: headers("Content-Type", "", "X-Terraform-Get", "git::https://example.com/a?ref=v1#x"), kept: true},
		{name: "local location", status: 204, header: headers("X-Terraform-Get", "./a.tgz?archive=tar.gz"), kept: true},
		{name: "local location with any parameter", status: 204, header: headers("X-Terraform-Get", "./a.tgz?x=y")},
		{name: "location with a token", status: 204, header: headers("X-Terraform-Get", "https://example.com/a.tgz?token=x")},
		{name: "rooted location with a token", status: 204, header: headers("X-Terraform-Get", "/dl/a.tgz?token=x")},
		{name: "rooted location with a signature", status: 204, header: headers("X-Terraform-Get", "/dl/a.tgz?a=b&X-Amz-Signature=x")},
		{name: "rooted location with a URL in it", status: 204, header: headers("X-Terraform-Get", "/dl/a.tgz?token=x&from=https://example.com/")},
		{name: "rooted location with a name", status: 204, header: headers("X-Terraform-Get", "/get?id=5eed&archive=tar.gz")},
		{name: "location with a key", status: 204, header: headers("X-Terraform-Get", "git::git@example.com:a/b?sshkey=x")},
		{name: "bucket with a key", status: 204, header: headers("X-Terraform-Get", "s3.amazonaws.com/a/b?aws_access_key_id=x&aws_access_key_secret=y")},
		{name: "location with a password", status: 204, header: headers("X-Terraform-Get", "git::https://u:p@example.com/a")},
		{name: "location with a user", status: 204, header: headers("X-Terraform-Get", "git::ssh://git@example.com/a"), kept: true},
		{name: "a password in a document", header: plain, body: `{"location":"git::https://oauth2:s3cr3t@git.example.com/a?ref=v1"}`},
		{name: "a password, escaped", header: plain, body: `{"location":"https:\/\/u:s3cr3t@example.com\/a.tgz"}`},
		{name: "a password among others", header: plain, body: `["https://example.com:443/@x:y", "https://u:p@example.com"]`},
		{name: "a user in a document", header: plain, body: `{"location":"git::ssh://git@example.com:22/a:b@c", "x": "a@b.c: d"}`, kept: true},
		{name: "no content", status: 204, header: plain},
		{name: "redirect", status: 302, header: headers("Location", "/other"), kept: true},
		{name: "permanent redirect", status: 308, header: headers("Location", "https://other.example.com/x"), kept: true},
		{name: "redirect to http", status: 302, header: headers("Location", "http://registry.example.com/")},
		{name: "redirect with a query", status: 302, header: headers("Location", "/other?x=y")},
		{name: "redirect with credentials", status: 302, header: headers("Location", "https://u:p@example.com/")},
		{name: "redirect with the user of the request", status: 302, header: headers("Location", "https://u:p@registry.example.com/"), url: "https://u:p@registry.example.com/v1"},
		{name: "relative redirect of a request with a user", status: 302, header: headers("Location", "/x"), url: "https://u:p@registry.example.com/v1", kept: true},
		{name: "marks in upper case", header: plain, body: `{"download_url":"https://x.example.com/?a=b\u0026X-AMZ-SIGNATURE=abc"}`},
		{name: "location with a token as user", status: 204, header: headers("X-Terraform-Get", "git::https://ghp_abc@github.com/a/b")},
		{name: "redirect to nowhere", status: 302, header: plain},
		{name: "redirect to nonsense", status: 302, header: headers("Location", "https://[")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := webtest.Serve(edited(answer(cmp.Or(test.status, http.StatusOK), test.header, test.body), test.set))
			dir := t.TempDir()
			url := doc
			if test.path != "" {
				url = "https://registry.example.com" + test.path
			}
			url = cmp.Or(test.url, url)
			resp := must.Get((&doccache.Transport{Base: o, Dir: dir}).RoundTrip(request(t, url)))(t)
			_, _ = io.ReadAll(resp.Body) // an error is what some cases are about
			resp.Body.Close()
			if n := len(entries(t, dir)); n != map[bool]int{true: 1}[test.kept] {
				t.Errorf("%d entries", n)
			}
			checkFiles(t, dir)
			if !test.kept {
				return
			}
			resp, body := get(t, &doccache.Transport{Base: o, Dir: dir, Offline: true}, request(t, url))
			wantBody := test.body
			if resp.StatusCode/100 == 3 {
				wantBody = ""
			}
			for _, name := range []string{"Location", "X-Terraform-Get", "Content-Type"} {
				if got := resp.Header.Get(name); got != test.header.Get(name) {
					t.Errorf("%s %q, want %q", name, got, test.header.Get(name))
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
