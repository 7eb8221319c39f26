package doccache_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/transport/doccache"
)

// TestHeadersAreExact: headers with invalid UTF-8 are not changed by the cache. A redirect must not
// lead to another URL the second time.
func TestHeadersAreExact(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusMovedPermanently} {
		h := headers("Cache-Control", "max-age=60", "Location", "/caf\xe9", "Etag", "\"\xe9\"")
		tr := &doccache.Transport{Base: webtest.Serve(answer(status, h, `{}`)), Dir: t.TempDir()}
		for range 2 {
			resp, _ := get(t, tr, request(t, doc))
			for _, name := range []string{"Location", "Etag"} {
				if got, want := resp.Header.Get(name), h.Get(name); got != want {
					t.Errorf("status %d: %s %q, want %q", status, name, got, want)
				}
			}
		}
	}
}

// TestStaleIfErrorLimit: a server cannot state a long time for stale documents.
func TestStaleIfErrorLimit(t *testing.T) {
	t.Parallel()
	for after, stale := range map[time.Duration]bool{
		doccache.MaxFresh + 59*second: true,
		doccache.MaxFresh + 60*second: false,
		1000 * time.Hour:              false,
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			o := webtest.Serve(
				answer(http.StatusOK, headers("Cache-Control", "max-age=60, stale-if-error=99999999"), `{}`),
				answer(http.StatusBadGateway, headers(), `{"down":true}`),
			)
			tr := &doccache.Transport{Base: o, Dir: dir}
			want(t, tr, doc, `{}`, 1)
			time.Sleep(after)
			if resp, _ := get(t, tr, request(t, doc)); (resp.StatusCode == http.StatusOK) != stale {
				t.Errorf("after %v: status %d", after, resp.StatusCode)
			}
		})
	}
}

// TestTemporaryRedirects: FreshFor does not apply to temporary redirects.
func TestTemporaryRedirects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status   int
		control  string
		requests int
	}{
		{301, "", 1}, {308, "", 1}, {302, "", 2}, {303, "", 2}, {307, "", 2}, {302, "max-age=60", 1},
	} {
		o := webtest.Serve(answer(test.status, headers("Location", "/maintenance", "Cache-Control", test.control), ""))
		tr := &doccache.Transport{Base: o, Dir: t.TempDir(), FreshFor: time.Hour}
		for range 2 {
			get(t, tr, request(t, doc))
		}
		if n := count(o); n != test.requests {
			t.Errorf("status %d, Cache-Control %q: %d requests, want %d", test.status, test.control, n, test.requests)
		}
		tr = &doccache.Transport{Base: o, Dir: tr.Dir, Offline: true}
		if resp, _ := get(t, tr, request(t, doc)); resp.StatusCode != test.status {
			t.Errorf("status %d: %d offline", test.status, resp.StatusCode)
		}
	}
}

// TestKeysAreDistinct: different requests never share an answer.
func TestKeysAreDistinct(t *testing.T) {
	t.Parallel()
	tr := &doccache.Transport{Base: webtest.Serve(numbered("Cache-Control", "max-age=60")), Dir: t.TempDir()}
	seen := map[string]string{}
	for _, header := range []http.Header{
		nil,
		{"X-A": {"X-B", "secret"}},
		{"X-A": {}, "X-B": {"secret"}},
		{"X-A": {"X-B"}, "Secret": {}},
		{"X-A": {"X-B,secret"}},
	} {
		for _, url := range []string{
			doc, doc + "?", doc + "/", doc + "?page=1&limit=2", doc + "?limit=2&page=1",
			strings.Replace(doc, "/acme/", "/x/../acme/", 1), strings.Replace(doc, "/acme/", "/%61cme/", 1),
			strings.Replace(doc, "/acme/", "//acme/", 1), strings.Replace(doc, "/acme/", "%2Facme/", 1),
			strings.Replace(doc, ".com", ".com:4443", 1), strings.Replace(doc, ".com", ".com.", 1),
			"https://[::1]/", "https://[::443]/", "https://[::443]:443/x",
		} {
			req := request(t, url)
			if req.Header = header.Clone(); header == nil {
				req.Header = http.Header{}
			}
			asked := fmt.Sprint(url, " with ", header)
			_, body := get(t, tr, req)
			if other := seen[body]; other != "" {
				t.Errorf("%s got the answer for %s", asked, other)
			}
			seen[body] = asked
		}
	}
}

// TestBrokenBase: a Base that returns no response or no body does not cause a panic.
func TestBrokenBase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	get(t, &doccache.Transport{Base: always(headers("Etag", `"a"`), `{}`), Dir: dir}, request(t, doc))
	broken := func(resp *http.Response) webtest.Handler {
		return func(int, *http.Request) (*http.Response, error) { return resp, nil }
	}
	if resp, err := (&doccache.Transport{Base: broken(nil), Dir: dir}).RoundTrip(request(t, doc)); resp != nil || err != nil {
		t.Errorf("RoundTrip returned %v, %v; want nil, nil like Base", resp, err)
	}
	for _, status := range []int{503, 304, 204, 200} {
		tr := &doccache.Transport{Base: broken(&http.Response{StatusCode: status}), Dir: dir, StaleIfError: time.Hour}
		resp := must.Get(tr.RoundTrip(request(t, doc)))(t)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	checkFiles(t, dir)
}

// frame returns a file with the correct checksum.
func frame(rest string) []byte { return fmt.Appendf(nil, "%x\n%s", sha256.Sum256([]byte(rest)), rest) }

// badFiles have an invalid head.
var badFiles = []string{
	``, `null`, `[]`, `{}`, `{"status":200}`, `{"status":1e99,"header":{}}`, `{"status":200,"header":[]}`, strings.Repeat("[", 10_000),
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"status":200,"header":{"Etag":["a"]}}`
	if _, err := doccache.Decode(frame(good)); err != nil {
		t.Errorf("Decode(%s): %v", good, err)
	}
	for _, rest := range badFiles {
		if _, err := doccache.Decode(frame(rest + "\nx")); err == nil {
			t.Errorf("Decode(%.80s) succeeded, want an error", rest)
		}
	}
}

// FuzzDecode decodes files, also with a correct checksum. Either Decode fails, or encoding and
// decoding again gives the same file.
func FuzzDecode(f *testing.F) {
	at := time.Unix(1_000_000_000, 5)
	for _, body := range []string{"", `{}`, strings.Repeat("x", 1000)} {
		file := must.Get(doccache.Encode(http.StatusOK, headers("Etag", `"a"`, "Cache-Control", "max-age=60"), at, at.Add(1), []byte(body)))(f)
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	for _, rest := range badFiles {
		f.Add([]byte(rest + "\nx"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range [][]byte{data, frame(string(data))} {
			again, err := doccache.Decode(file)
			if err != nil {
				continue
			}
			twice, err := doccache.Decode(again)
			if err != nil || !bytes.Equal(again, twice) {
				t.Errorf("%q is encoded as %q, and then as %q, %v", file, again, twice, err)
			}
		}
	})
}

// TestEncodeLimits: the largest document and the largest head can be encoded and decoded. With one
// more byte, Encode fails.
func TestEncodeLimits(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000_000, 0).UTC()
	encode := func(tag, size int) ([]byte, error) {
		return doccache.Encode(http.StatusOK, headers("Etag", strings.Repeat("x", tag)), at, at, make([]byte, size))
	}
	short := must.Get(encode(1, 0))(t)
	most := doccache.MaxHead - (len(short) - 2*sha256.Size - 1) + 1
	for _, test := range []struct {
		tag, size int
		fits      bool
	}{{most, doccache.MaxDocument, true}, {most + 1, 1, false}, {1, doccache.MaxDocument + 1, false}} {
		file, err := encode(test.tag, test.size)
		if (err == nil) != test.fits {
			t.Errorf("Encode of a tag of %d and a body of %d bytes: %v, want success %v", test.tag, test.size, err, test.fits)
		}
		if err == nil {
			if _, err := doccache.Decode(file); err != nil {
				t.Errorf("Decode of a tag of %d and a body of %d bytes: %v", test.tag, test.size, err)
			}
		}
	}
}

// FuzzDirectives: no header gives a negative time.
func FuzzDirectives(f *testing.F) {
	for _, s := range []string{
		"", "max-age=60", `private="a, b", max-age="6\0", no-store`, "max-stale", "max-age=,", ",,=,", `a="`, `a="\`, "max-age=99999999999999999999",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range doccache.Directives(http.Header{"Cache-Control": {s, s}}) {
			if d < -1 {
				t.Errorf("%q means %v", s, d)
			}
		}
	})
}

// FuzzAnswer: for all headers, a cached answer is the answer of the server.
func FuzzAnswer(f *testing.F) {
	f.Add("max-age=60", "Accept", `"a"`, date(0), "5", "/x", "./x?y", `{}`, uint16(200))
	f.Add("no-cache", "*", "W/", "0", "-1", "http://x", "git::https://u:p@h/x?a=b#c", `[`, uint16(204))
	f.Add("stale-if-error=9", ",,", "", "x", "99999999999", "%", "", "", uint16(302))
	dir := f.TempDir() // to make another key each time takes long
	f.Fuzz(func(t *testing.T, control, vary, tag, expires, age, location, get, body string, status uint16) {
		h := http.Header{
			"Content-Type": {"application/json"}, "Cache-Control": {control}, "Vary": {vary}, "Etag": {tag},
			"Expires": {expires}, "Age": {age}, "Location": {location}, "X-Terraform-Get": {get},
		}
		o := webtest.Serve(answer(int(status), h, body))
		for _, path := range entries(t, dir) {
			must.Do(t, os.Remove(path))
		}
		for _, tr := range []*doccache.Transport{{Base: o, Dir: dir}, {Base: o, Dir: dir}, {Base: o, Dir: dir, Offline: true}} {
			resp, err := tr.RoundTrip(request(t, doc))
			if errors.Is(err, failure.ErrOffline) {
				continue
			}
			must.Do(t, err)
			var got bytes.Buffer
			must.Get(got.ReadFrom(resp.Body))(t)
			resp.Body.Close()
			if resp.StatusCode != int(status) || got.String() != body && status/100 == 2 && status != 204 {
				t.Errorf("status %d with %q, want %d with %q", resp.StatusCode, got.String(), status, body)
			}
		}
	})
}
