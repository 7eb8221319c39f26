package regtest_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestFaults checks what one fault makes of one answer.
func TestFaults(t *testing.T) {
	t.Parallel()
	const list = "/v1/providers/acme/alpha/versions"
	const files = "/releases/registry.example.com/acme/alpha/1.0.0/terraform-provider-alpha_1.0.0"
	tests := map[string]struct {
		fault regtest.Fault
		path  string
		want  func(a answer, plain answer) bool
	}{
		"status": {regtest.Fault{Status: 503, RetryAfter: "30"}, list, func(a, _ answer) bool {
			return a.StatusCode == 503 && a.Header.Get("Retry-After") == "30" && string(a.body) == `{"errors":["Service Unavailable"]}`
		}},
		"status without a body": {regtest.Fault{Status: 204}, list, func(a, _ answer) bool {
			return a.StatusCode == 204 && len(a.body) == 0 && a.ContentLength == 0 && a.Header["Content-Length"] == nil
		}},
		"error of the caller's": {regtest.Fault{Status: 404, Raw: []byte("<h1>no</h1>"), Header: http.Header{"content-type": {"text/html"}}}, list, func(a, _ answer) bool {
			return a.StatusCode == 404 && string(a.body) == "<h1>no</h1>" && a.Header.Get("Content-Type") == "text/html"
		}},
		"empty error":   {regtest.Fault{Status: 404, Raw: []byte{}}, list, func(a, _ answer) bool { return a.StatusCode == 404 && len(a.body) == 0 }},
		"raw document":  {regtest.Fault{Raw: []byte("null")}, list, func(a, _ answer) bool { return a.StatusCode == 200 && string(a.body) == "null" }},
		"raw of no one": {regtest.Fault{Raw: []byte(`{"versions":[]}`)}, "/v1/providers/acme/nobody/versions", func(a, _ answer) bool { return string(a.body) == `{"versions":[]}` }},
		"raw sums": {regtest.Fault{Raw: []byte("x")}, files + "_SHA256SUMS", func(a, p answer) bool {
			return string(a.body) == "x" && a.Header.Get("Content-Type") == p.Header.Get("Content-Type") && a.Header.Get("Etag") != p.Header.Get("Etag")
		}},
		"raw signature": {regtest.Fault{Raw: []byte("x")}, files + "_SHA256SUMS.sig", func(a, p answer) bool {
			return string(a.body) == "x" && a.Header.Get("Content-Type") == p.Header.Get("Content-Type")
		}},
		"raw archive": {regtest.Fault{Raw: []byte("PK")}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return string(a.body) == "PK" && a.Header.Get("Content-Type") == "application/zip"
		}},
		"media type":    {regtest.Fault{Header: http.Header{"Content-Type": {"application/octet-stream"}}}, list, func(a, p answer) bool { return a.Header.Get("Content-Type") == "application/octet-stream" }},
		"no media type": {regtest.Fault{Header: http.Header{"Content-Type": nil}}, list, func(a, p answer) bool { return len(a.Header["Content-Type"]) == 0 && bytes.Equal(a.body, p.body) }},
		"extra header":  {regtest.Fault{Header: http.Header{"X-Rate": {"1", "2"}}}, list, func(a, p answer) bool { return len(a.Header["X-Rate"]) == 2 }},
		"no size":       {regtest.Fault{Header: http.Header{"Content-Length": nil}}, files + "_linux_amd64.zip", func(a, p answer) bool { return a.ContentLength == -1 && bytes.Equal(a.body, p.body) }},
		"size too large": {regtest.Fault{Header: http.Header{"Content-Length": {"1000000"}}}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return a.ContentLength == 1000000 && a.err == io.ErrUnexpectedEOF && bytes.Equal(a.body, p.body)
		}},
		"size too small": {regtest.Fault{Header: http.Header{"Content-Length": {"7"}}}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return a.ContentLength == 7 && a.err == nil && bytes.Equal(a.body, p.body[:7])
		}},
		"no number of bytes": {regtest.Fault{Header: http.Header{"Content-Length": {"-7"}}}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return a.ContentLength == -1 && bytes.Equal(a.body, p.body)
		}},
		"cut before all": {regtest.Fault{Break: regtest.Cut, After: -5}, list, func(a, p answer) bool { return a.err == io.ErrUnexpectedEOF && len(a.body) == 0 }},
		"no validator": {regtest.Fault{Header: http.Header{"ETag": nil}}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return len(a.Header["Etag"]) == 0 && len(a.Header["Last-Modified"]) == 0 && p.Header.Get("Last-Modified") != "" && bytes.Equal(a.body, p.body)
		}},
		"date alone": {regtest.Fault{Header: http.Header{"Etag": nil, "Last-Modified": {"Sat, 01 Jan 2000 00:00:00 GMT"}}}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return len(a.Header["Etag"]) == 0 && a.Header.Get("Last-Modified") == "Sat, 01 Jan 2000 00:00:00 GMT"
		}},
		"weak entity tag": {regtest.Fault{Header: http.Header{"Etag": {`W/"1"`}}}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return a.Header.Get("Etag") == `W/"1"` && len(a.Header["Etag"]) == 1
		}},
		"corrupt file": {regtest.Fault{Corrupt: true}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return differ(a.body, p.body) == 1 && a.Header.Get("Etag") == p.Header.Get("Etag")
		}},
		"corrupt document": {regtest.Fault{Corrupt: true}, list, func(a, p answer) bool { return differ(a.body, p.body) == 1 }},
		"changed file": {regtest.Fault{Changed: true}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return differ(a.body, p.body) == 1 && a.Header.Get("Etag") != p.Header.Get("Etag") && a.Header.Get("Etag")[0] == '"' &&
				a.Header.Get("Last-Modified") != p.Header.Get("Last-Modified")
		}},
		"cut": {regtest.Fault{Break: regtest.Cut, After: 10}, list, func(a, p answer) bool {
			return a.err == io.ErrUnexpectedEOF && bytes.Equal(a.body, p.body[:10]) && a.ContentLength == p.ContentLength
		}},
		"cut at once":   {regtest.Fault{Break: regtest.Cut}, list, func(a, p answer) bool { return a.err == io.ErrUnexpectedEOF && len(a.body) == 0 }},
		"cut after all": {regtest.Fault{Break: regtest.Cut, After: 1 << 40}, list, func(a, p answer) bool { return a.err == nil && bytes.Equal(a.body, p.body) }},
		"short": {regtest.Fault{Break: regtest.Short, After: 10}, list, func(a, p answer) bool {
			return a.err == nil && bytes.Equal(a.body, p.body[:10]) && a.ContentLength == 10
		}},
		"short of all":     {regtest.Fault{Break: regtest.Short}, list, func(a, p answer) bool { return a.err == nil && len(a.body) == 0 && a.ContentLength == 0 }},
		"other content":    {regtest.Fault{Path: "_SHA256SUMS.sig", Instead: "_SHA256SUMS"}, files + "_SHA256SUMS.sig", func(a, p answer) bool { return strings.HasSuffix(string(a.body), "_linux_amd64.zip\n") }},
		"other path":       {regtest.Fault{Instead: "/.well-known/terraform.json"}, list, func(a, p answer) bool { return strings.HasPrefix(string(a.body), `{"providers.v1"`) }},
		"edit":             {regtest.Fault{Edit: func(d map[string]any) { d["x"] = 1 }}, list, func(a, p answer) bool { return strings.HasSuffix(string(a.body), `"x":1}`) }},
		"edit of an error": {regtest.Fault{Edit: func(d map[string]any) { d["x"] = 1 }}, "/nowhere", func(a, p answer) bool { return bytes.Equal(a.body, p.body) }},
		"edit of a file":   {regtest.Fault{Edit: func(d map[string]any) { d["x"] = 1 }}, files + "_SHA256SUMS", func(a, p answer) bool { return bytes.Equal(a.body, p.body) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _ := start()
			plain := get(t, reg.Client(), base+test.path)
			reg.AddFault(test.fault)
			a := get(t, reg.Client(), base+test.path)
			if !test.want(a, plain) {
				t.Errorf("%s %v, %v\n%.500s", a.Status, a.Header, a.err, a.body)
			}
			if got := reg.Requests()[1].Status; got != a.StatusCode {
				t.Errorf("the record says %d", got)
			}
			reg.ClearFaults()
			if a := get(t, reg.Client(), base+test.path); !bytes.Equal(a.body, plain.body) {
				t.Error("the fault stays after ClearFaults")
			}
		})
	}
}

// differ returns in how many bits a and b differ, or -1 if in size.
func differ(a, b []byte) int {
	if len(a) != len(b) {
		return -1
	}
	n := 0
	for i := range a {
		for x := a[i] ^ b[i]; x != 0; x &= x - 1 {
			n++
		}
	}
	return n
}

func TestDrop(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Drop: true, First: 1})
	_, err := try(t.Context(), reg.Client(), "GET", listURL)
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error: %v", err)
	}
	if list := reg.Requests(); len(list) != 1 || list[0].Status != 0 {
		t.Errorf("record: %v", list)
	}
	object(t, reg.Client(), listURL)
}

// TestWhich checks which requests a fault affects.
func TestWhich(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		faults []regtest.Fault
		want   []int
	}{
		"all":             {[]regtest.Fault{{Status: 500}}, []int{500, 500, 500, 500}},
		"first":           {[]regtest.Fault{{Status: 500, First: 2}}, []int{500, 500, 200, 200}},
		"skip":            {[]regtest.Fault{{Status: 500, Skip: 3}}, []int{200, 200, 200, 500}},
		"skip, first":     {[]regtest.Fault{{Status: 500, Skip: 1, First: 2}}, []int{200, 500, 500, 200}},
		"kind":            {[]regtest.Fault{{Kind: regtest.Discovery | regtest.Versions, Status: 500}}, []int{500, 500, 500, 500}},
		"other kind":      {[]regtest.Fault{{Kind: regtest.Downloads, Status: 500}}, []int{200, 200, 200, 200}},
		"host":            {[]regtest.Fault{{Host: "registry.example.com", Status: 500}}, []int{500, 500, 500, 500}},
		"other host":      {[]regtest.Fault{{Host: "example.com", Status: 500}}, []int{200, 200, 200, 200}},
		"path":            {[]regtest.Fault{{Path: "/alpha/", Status: 500}}, []int{500, 500, 500, 500}},
		"other path":      {[]regtest.Fault{{Path: "/beta/", Status: 500}}, []int{200, 200, 200, 200}},
		"one by one":      {[]regtest.Fault{{Status: 500, First: 1}, {Status: 502, Skip: 1, First: 1}, {Status: 503, Skip: 2}}, []int{500, 502, 503, 503}},
		"first decides":   {[]regtest.Fault{{Status: 500}, {Raw: []byte("{}")}}, []int{500, 500, 500, 500}},
		"redirect alone":  {[]regtest.Fault{{Redirect: "/"}, {Status: 500, First: 2}}, []int{302, 500, 302, 500}},
		"before redirect": {[]regtest.Fault{{Status: 500, First: 1}, {Redirect: "/"}}, []int{500, 302, 200, 302}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _ := start()
			for _, f := range test.faults {
				reg.AddFault(f)
			}
			for len(reg.Requests()) < len(test.want) {
				get(t, reg.Client(), listURL)
			}
			var got []int
			for _, q := range reg.Requests() {
				got = append(got, q.Status)
			}
			if got = got[:len(test.want)]; !cmp.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Edit: func(d map[string]any) { d["a"] = "1" }, Header: http.Header{"X-One": {"1"}}})
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Edit: func(d map[string]any) { d["b"] = d["a"] }, Header: http.Header{"X-Two": {"2"}}})
	a := get(t, reg.Client(), listURL)
	if !strings.Contains(string(a.body), `"a":"1","b":"1"`) || a.Header.Get("X-One")+a.Header.Get("X-Two") != "12" {
		t.Errorf("%v %s", a.Header, a.body)
	}
}

// TestReplay: the metadata of one version can be that of another, in all ways.
func TestReplay(t *testing.T) {
	t.Parallel()
	reg, old := start()
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "2.0.0"})
	reg.AddFault(regtest.Fault{Kind: regtest.Package, Path: "/2.0.0/", Instead: "/1.0.0/"})
	doc := object(t, reg.Client(), metadataURL("2.0.0", "linux_amd64"))
	if doc["filename"] != old.Filename("linux_amd64") || doc["shasum"] != old.ZH("linux_amd64").Value() {
		t.Errorf("metadata: %v", doc)
	}
}

// TestInsteadOfNothing: a request whose path is empty, or has no slash, can get a document
// with references that are relative to it.
func TestInsteadOfNothing(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", URLs: regtest.Relative})
	reg.AddFault(regtest.Fault{Kind: regtest.Other, Instead: "/v1/providers/acme/alpha/1.0.0/download/linux/amd64"})
	for _, u := range []string{base, base + "/get?id=" + hex.EncodeToString([]byte("x")), base + "/x/y"} {
		doc := object(t, reg.Client(), u)
		at, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		link, err := at.Parse(doc["download_url"].(string))
		if err != nil {
			t.Fatal(err)
		}
		if a := get(t, reg.Client(), link.String()); a.StatusCode != 200 || a.Header.Get("Content-Type") != "application/zip" {
			t.Errorf("%s leads to %s: %s", u, link, a.Status)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	const list = "/v1/providers/acme/alpha/versions?x=1"
	tests := map[string]struct {
		fault regtest.Fault
		want  []string
	}{
		"same host":  {regtest.Fault{Redirect: "/"}, []string{base + list, base + "/redirect-1-of-1" + list}},
		"by hops":    {regtest.Fault{Hops: 2}, []string{base + list, base + "/redirect-1-of-2" + list, base + "/redirect-2-of-2" + list}},
		"other host": {regtest.Fault{Redirect: "https://other.example.com"}, []string{base + list, "https://other.example.com/redirect-1-of-1" + list}},
		"other port": {regtest.Fault{Redirect: base + ":8443/", Hops: 2}, []string{base + list, base + ":8443/redirect-1-of-2" + list, base + ":8443/redirect-2-of-2" + list}},
		"http":       {regtest.Fault{Redirect: "http://registry.example.com"}, []string{base + list, "http://registry.example.com/redirect-1-of-1" + list}},
		"presigned":  {regtest.Fault{Redirect: "https://s3.example.com?X-Amz-Signature=1"}, []string{base + list, "https://s3.example.com/redirect-1-of-1" + list + "&X-Amz-Signature=1"}},
		"as it is":   {regtest.Fault{Redirect: "/v1/providers/acme/alpha/versions", Skip: 0, First: 1}, []string{base + list, base + "/v1/providers/acme/alpha/versions"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _ := start()
			reg.AddFault(test.fault)
			if a := get(t, reg.Client(), base+list); a.StatusCode != 200 {
				t.Errorf("in the end: %s", a.Status)
			}
			var urls []string
			for _, q := range reg.Requests() {
				urls = append(urls, q.URL())
				if q.Kind != regtest.Versions {
					t.Errorf("%v has another kind", q)
				}
			}
			if diff := cmp.Diff(test.want, urls); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRedirectStatus(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddFault(regtest.Fault{Redirect: "/", Status: 308, Header: http.Header{"X-Hop": {"1"}}})
	client := reg.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if a := get(t, client, listURL); a.StatusCode != 308 || a.Header.Get("X-Hop") != "1" {
		t.Errorf("%s %v", a.Status, a.Header)
	}
}

// TestRedirectAsItIs: what is not just a scheme and a host stands as it is.
func TestRedirectAsItIs(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"//evil.example.com", "//evil.example.com?x=1", "https://other.example.com/x", "//evil.example.com/x", "?x=1", "file:///etc/passwd", "mailto:a@b", "%zz"} {
		reg, _ := start()
		reg.AddFault(regtest.Fault{Redirect: to})
		resp, err := reg.RoundTrip(httptest.NewRequestWithContext(t.Context(), "GET", listURL, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Location"); got != to {
			t.Errorf("%s has become %s", to, got)
		}
	}
}

func TestRedirectLoop(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Redirect: "https://other.example.com", Hops: -1})
	if _, err := try(t.Context(), reg.Client(), "GET", listURL); err == nil || reg.Count(regtest.Versions) != 10 {
		t.Errorf("%d requests, error: %v", reg.Count(0), err)
	}
}

// TestRedirectDiscovery: a discovery document can be elsewhere, and what it
// refers to is then elsewhere too.
func TestRedirectDiscovery(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"https://www.example.com", "https://www.example.com/.well-known/terraform.json"} {
		reg, _ := start()
		reg.AddFault(regtest.Fault{Kind: regtest.Discovery, Host: "registry.example.com", Redirect: to})
		a := get(t, reg.Client(), base+"/.well-known/terraform.json")
		if a.StatusCode != 200 || a.Request.URL.Host != "www.example.com" {
			t.Errorf("%s from %s", a.Status, a.Request.URL)
		}
		object(t, reg.Client(), "https://www.example.com/v1/providers/acme/alpha/versions")
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	reg, rel := start()
	u := archiveURL(t, reg)
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Part: regtest.Whole})
	a := get(t, reg.Client(), u, "Range", "bytes=10-")
	if a.StatusCode != 200 || !bytes.Equal(a.body, content(t, rel, "linux_amd64")) || a.Header.Get("Accept-Ranges") != "" {
		t.Errorf("%s %v", a.Status, a.Header)
	}
}

// TestResume: a file that breaks off can be fetched to its end, unless it has
// become another one.
func TestResume(t *testing.T) {
	t.Parallel()
	reg, rel := start()
	u := archiveURL(t, reg)
	whole := content(t, rel, "linux_amd64")
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, First: 2, Break: regtest.Cut, After: 10})
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Skip: 3, Changed: true})
	var got []byte
	etag := ""
	for range 3 {
		var header []string
		if etag != "" {
			header = []string{"Range", fmt.Sprintf("bytes=%d-", len(got)), "If-Range", etag}
		}
		a := get(t, reg.Client(), u, header...)
		etag, got = a.Header.Get("Etag"), append(got, a.body...)
	}
	if !bytes.Equal(got, whole) {
		t.Errorf("%d bytes of %d in three pieces", len(got), len(whole))
	}
	a := get(t, reg.Client(), u, "Range", "bytes=20-", "If-Range", etag)
	if a.StatusCode != 200 || differ(a.body, whole) != 1 {
		t.Errorf("of a file that has changed: %s", a.Status)
	}
	a = get(t, reg.Client(), u, "Range", "bytes=20-", "If-Range", a.Header.Get("Etag"))
	if a.StatusCode != 206 || len(a.body) != len(whole)-20 {
		t.Errorf("of the file that it has become: %s", a.Status)
	}
}

// TestResumeByDate: where a file has a date for the only validator, that tells whether it
// has become another one.
func TestResumeByDate(t *testing.T) {
	t.Parallel()
	reg, rel := start()
	u := archiveURL(t, reg)
	whole := content(t, rel, "linux_amd64")
	date := get(t, reg.Client(), u).Header.Get("Last-Modified")
	part := []string{"Range", "bytes=20-", "If-Range", date}
	if a := get(t, reg.Client(), u, part...); a.StatusCode != 206 || !bytes.Equal(a.body, whole[20:]) {
		t.Errorf("of the file: %s", a.Status)
	}
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Changed: true})
	if a := get(t, reg.Client(), u, part...); a.StatusCode != 200 || differ(a.body, whole) != 1 {
		t.Errorf("of a file that has changed: %s", a.Status)
	}
	const other = "Sat, 01 Jan 2000 00:00:00 GMT"
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Header: http.Header{"Etag": nil, "Last-Modified": {other}}})
	for date, status := range map[string]int{date: 200, other: 206} {
		if a := get(t, reg.Client(), u, "Range", "bytes=20-", "If-Range", date); a.StatusCode != status {
			t.Errorf("asked with %s for a file of %s: %s, want %d", date, other, a.Status, status)
		}
	}
}

func TestOpaqueFault(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", URLs: regtest.Opaque})
	reg.AddFault(regtest.Fault{Path: "_linux_amd64.zip", Status: 500})
	if a := get(t, reg.Client(), base+archiveURL(t, reg)); a.StatusCode != 500 {
		t.Errorf("the fault does not see the file behind an opaque URL: %s", a.Status)
	}
}
