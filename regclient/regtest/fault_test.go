package regtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

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

func TestRedirectLoop(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Redirect: "https://other.example.com", Hops: -1})
	if _, err := try(t.Context(), reg.Client(), "GET", listURL); err == nil || reg.Count(regtest.Versions) != 10 {
		t.Errorf("%d requests, error: %v", reg.Count(0), err)
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

// TestParts checks the right answer to a request for a part of a file, and the wrong
// ones.
func TestParts(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}, Size: 10_000})
	u := archiveURL(t, reg)
	whole := content(t, rel, "linux_amd64")
	size := len(whole)
	label := func(first, total int) string { return fmt.Sprintf("bytes %d-%d/%d", first, size-1, total) }
	for _, test := range []struct {
		part  regtest.Part
		from  int
		first int // byte of the body
		code  int
		label string
	}{
		{regtest.RightPart, 5000, 5000, 206, label(5000, size)},
		{regtest.Whole, 5000, 0, 200, ""},
		{regtest.Overlap, 5000, 4000, 206, label(4000, size)},
		{regtest.Overlap, 300, 0, 206, label(0, size)},
		{regtest.Gap, 5000, 6000, 206, label(6000, size)},
		{regtest.Gap, size - 300, size - 1, 206, label(size-1, size)},
		{regtest.OtherTotal, 5000, 5000, 206, label(5000, size+1)},
		{regtest.Unlabelled, 5000, 5000, 206, ""},
		{regtest.Unsatisfiable, 5000, size, 416, fmt.Sprintf("bytes */%d", size)},
	} {
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{Part: test.part})
		a := get(t, reg.Client(), u, "Range", fmt.Sprintf("bytes=%d-", test.from))
		if a.StatusCode != test.code || a.Header.Get("Content-Range") != test.label || !bytes.Equal(a.body, whole[test.first:]) || a.ContentLength != int64(len(a.body)) {
			t.Errorf("%d from %d: %s, %q, %d of %d bytes", test.part, test.from, a.Status, a.Header.Get("Content-Range"), len(a.body), a.ContentLength)
		}
		if a := get(t, reg.Client(), u); a.StatusCode != 200 || !bytes.Equal(a.body, whole) {
			t.Errorf("%d: whoever wants the whole gets %s", test.part, a.Status)
		}
		if a := get(t, reg.Client(), listURL, "Range", "bytes=5-"); a.StatusCode != 200 {
			t.Errorf("%d: a document: %s", test.part, a.Status)
		}
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Part: regtest.Multipart})
	a := get(t, reg.Client(), u, "Range", "bytes=5000-")
	if a.StatusCode != 206 || !strings.HasPrefix(a.Header.Get("Content-Type"), "multipart/byteranges; boundary=") ||
		!bytes.Contains(a.body, whole[5000:]) || !bytes.Contains(a.body, []byte(label(5000, size))) || a.ContentLength != int64(len(a.body)) {
		t.Errorf("%s %v", a.Status, a.Header)
	}
}

func TestPadTo(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	plain := get(t, reg.Client(), listURL)
	for _, size := range []int64{1 << 20, int64(len(plain.body)), 1, -1} {
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{PadTo: size})
		a := get(t, reg.Client(), listURL)
		if want := max(size, int64(len(plain.body))); a.ContentLength != want || int64(len(a.body)) != want || !bytes.Equal(bytes.TrimRight(a.body, " "), plain.body) {
			t.Errorf("%d: %d bytes, said to be %d", size, len(a.body), a.ContentLength)
		}
		object(t, reg.Client(), listURL)
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Status: 500, PadTo: 5000})
	if a := get(t, reg.Client(), listURL); len(a.body) != 5000 || a.StatusCode != 500 {
		t.Errorf("an error of %d bytes", len(a.body))
	}
}

// TestGzip checks that the body is compressed for those who accept it, in process as
// over a connection.
func TestGzip(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	plain := get(t, reg.Client(), listURL)
	server, err := reg.ServeTLS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	reg.AddFault(regtest.Fault{Gzip: true, PadTo: 1 << 20})
	for name, client := range map[string]*http.Client{"in process": reg.Client(), "over TLS": server.Client()} {
		reg.Reset()
		a := get(t, client, listURL)
		if !a.Uncompressed || a.ContentLength != -1 || len(a.body) != 1<<20 || a.Header.Get("Content-Encoding") != "" || !bytes.HasPrefix(a.body, plain.body) {
			t.Errorf("%s: %d bytes, %+v", name, len(a.body), a.Header)
		}
		if sent := reg.Requests()[0].Sent; sent == 0 || sent > 10_000 {
			t.Errorf("%s: %d bytes were sent", name, sent)
		}
		if a := get(t, client, listURL, "Accept-Encoding", "identity"); a.Uncompressed || len(a.body) != 1<<20 {
			t.Errorf("%s: %d bytes for those who do not accept it", name, len(a.body))
		}
		if a := get(t, client, listURL, "Accept-Encoding", "gzip"); a.Uncompressed || a.Header.Get("Content-Encoding") != "gzip" || len(a.body) > 10_000 {
			t.Errorf("%s: %d bytes for those who ask for it", name, len(a.body))
		}
		if a := get(t, client, archiveURL(t, reg), "Range", "bytes=5-"); a.StatusCode != 206 || a.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: a part: %s, %v", name, a.Status, a.Header)
		}
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Raw: []byte("no gzip"), Header: http.Header{"Content-Encoding": {"gzip"}}})
	if a := get(t, reg.Client(), listURL); a.err == nil {
		t.Errorf("what is not compressed has become %q", a.body)
	}
}

func TestEvery(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		skip, every, first int
		want               []int // of twenty requests, from 1
	}{
		{0, 5, 0, []int{5, 10, 15, 20}},
		{3, 5, 0, []int{8, 13, 18}},
		{0, 5, 2, []int{5, 10}},
		{3, 5, 1, []int{8}},
		{17, 1, 0, []int{18, 19, 20}},
		{17, 0, 2, []int{18, 19}},
	} {
		reg, _ := start()
		reg.AddFault(regtest.Fault{Skip: test.skip, Every: test.every, First: test.first, Status: 500})
		var got []int
		for i := range 20 {
			if get(t, reg.Client(), listURL).StatusCode == 500 {
				got = append(got, i+1)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: requests %v", test, got)
		}
	}
}

// TestSent checks that the record tells how much was sent.
func TestSent(t *testing.T) {
	t.Parallel()
	reg, rel := start()
	size := int64(len(content(t, rel, "linux_amd64")))
	u := archiveURL(t, reg)
	reg.Reset()
	get(t, reg.Client(), u)
	get(t, reg.Client(), u, "Range", "bytes=10-")
	resp, err := reg.Client().Get(u)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 7)); err != nil {
		t.Error(err)
	}
	_ = resp.Body.Close()
	reg.AddFault(regtest.Fault{Break: regtest.Cut, After: 9})
	get(t, reg.Client(), u)
	var got []int64
	for _, q := range reg.Requests() {
		got = append(got, q.Sent)
	}
	if want := []int64{size, size - 10, 7, 9}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
}

// elapsed runs f in a bubble and returns how long it has taken there.
func elapsed(t *testing.T, f func(t *testing.T, reg *regtest.Registry)) (d time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		reg, _ := start()
		begin := time.Now()
		f(t, reg)
		d = time.Since(begin)
	})
	return d
}

func TestTime(t *testing.T) {
	t.Parallel()
	const size = 1000
	big := regtest.Provider{Address: "acme/big", Zip: make([]byte, size)}
	const bigURL = base + "/releases/registry.example.com/acme/big/1.0.0/terraform-provider-big_1.0.0_linux_amd64.zip"
	tests := map[string]struct {
		fault regtest.Fault
		want  time.Duration
	}{
		"nothing":        {regtest.Fault{}, 0},
		"delay":          {regtest.Fault{Delay: time.Hour}, time.Hour},
		"pause":          {regtest.Fault{Break: regtest.Stall, After: 10, Pause: time.Minute}, time.Minute},
		"pause at once":  {regtest.Fault{Break: regtest.Stall, Pause: time.Minute}, time.Minute},
		"pause too late": {regtest.Fault{Break: regtest.Stall, After: size, Pause: time.Minute}, 0},
		"rate":           {regtest.Fault{Rate: 10}, 100 * time.Second},
		"rate of one":    {regtest.Fault{Rate: 1}, 1000 * time.Second},
		"rate and pause": {regtest.Fault{Rate: 100, Break: regtest.Stall, After: 1, Pause: time.Minute}, 70 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
				reg.AddProvider(big)
				reg.AddFault(test.fault)
				if a := get(t, reg.Client(), bigURL); a.err != nil || len(a.body) != size {
					t.Errorf("%s, %v, %d bytes", a.Status, a.err, len(a.body))
				}
			})
			if got != test.want {
				t.Errorf("took %v, want %v", got, test.want)
			}
		})
	}
}

// TestLatency: the time that is taken tells how deep the requests are nested.
func TestLatency(t *testing.T) {
	t.Parallel()
	got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
		reg.Latency = time.Second
		reg.AddFault(regtest.Fault{Kind: regtest.Versions, Hops: 2})
		object(t, reg.Client(), listURL)
		done := make(chan bool)
		for range 10 {
			go func() {
				_, err := try(t.Context(), reg.Client(), "GET", metadataURL("1.0.0", "linux_amd64"))
				done <- err == nil
			}()
		}
		for range 10 {
			if !<-done {
				t.Error("a request has failed")
			}
		}
	})
	if got != 4*time.Second {
		t.Errorf("took %v, want 4s", got)
	}
}

// TestCancel: a request ends with its context wherever it waits, and so does
// the body.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]regtest.Fault{
		"before the answer": {Delay: time.Hour},
		"at the start":      {Break: regtest.Stall},
		"in the body":       {Break: regtest.Stall, After: 10},
		"in a pause":        {Break: regtest.Stall, After: 10, Pause: time.Hour},
		"slow":              {Rate: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
				reg.AddFault(fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				a, err := try(ctx, reg.Client(), "GET", listURL)
				if err == nil {
					err = a.err
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error: %v", err)
				}
				ctx, cancelCause := context.WithCancelCause(t.Context())
				cancelCause(io.ErrNoProgress)
				if _, err := try(ctx, reg.Client(), "GET", listURL); !errors.Is(err, io.ErrNoProgress) {
					t.Errorf("error: %v", err)
				}
			})
			if got != time.Minute {
				t.Errorf("took %v", got)
			}
		})
	}
}

// TestClose: closing a body ends a read of it.
func TestClose(t *testing.T) {
	t.Parallel()
	elapsed(t, func(t *testing.T, reg *regtest.Registry) {
		reg.AddFault(regtest.Fault{Break: regtest.Stall})
		resp, err := reg.Client().Get(listURL)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error)
		go func() {
			_, err := io.ReadAll(resp.Body)
			failed <- err
		}()
		synctest.Wait()
		resp.Body.Close()
		resp.Body.Close()
		if err := <-failed; err != http.ErrBodyReadAfterClose {
			t.Errorf("error: %v", err)
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
			t.Errorf("error: %v", err)
		}
	})
}
