package doccache_test

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tofureg/tofureg/internal/must"
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
		{"raw", "GET", doc, http.Header{"Accept-Encoding": {"identity"}}},
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
		o := &origin{answer: func(_ int, req *http.Request) (*http.Response, error) {
			resp := reply(http.StatusOK, headers("Cache-Control", "max-age=60"), `{}`)
			resp.Body = body
			return resp, nil
		}}
		dir := t.TempDir()
		tr := &doccache.Transport{Base: o, Dir: dir}
		req := request(t, test.url)
		req.Method, req.Header = test.method, test.header
		for i := range 2 {
			resp := must.Get(tr.RoundTrip(req))(t)
			if resp.Body != body || o.last() != req || o.count() != i+1 || resp.Header.Get("Cache-Status") != "" {
				t.Errorf("%s: the request or its answer was changed", test.name)
			}
		}
		if s := tr.Stats(); s != (doccache.Stats{}) || len(entries(t, dir)) > 0 {
			t.Errorf("%s: %+v, entries %v", test.name, s, entries(t, dir))
		}
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
			o := &origin{answer: func(int, *http.Request) (*http.Response, error) {
				status := test.status
				if status == 0 {
					status = http.StatusOK
				}
				resp := reply(status, test.header.Clone(), test.body)
				if test.set != nil {
					test.set(resp)
				}
				return resp, nil
			}}
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
