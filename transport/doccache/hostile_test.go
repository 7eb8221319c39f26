package doccache_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

// TestHeadersAreExact: headers with invalid UTF-8 are not changed by the cache. A redirect must not
// lead to another URL the second time.
func TestHeadersAreExact(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusMovedPermanently} {
		h := headers("Cache-Control", "max-age=60", "Location", "/caf\xe9", "Etag", "\"\xe9\"")
		o := &origin{answer: func(int, *http.Request) (*http.Response, error) { return reply(status, h.Clone(), `{}`), nil }}
		tr := &doccache.Transport{Base: o, Dir: t.TempDir()}
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
			o := answers(
				answer{http.StatusOK, headers("Cache-Control", "max-age=60, stale-if-error=99999999"), `{}`},
				answer{http.StatusBadGateway, headers(), `{"down":true}`},
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
		o := answers(answer{test.status, headers("Location", "/maintenance", "Cache-Control", test.control), ""})
		tr := &doccache.Transport{Base: o, Dir: t.TempDir(), FreshFor: time.Hour}
		for range 2 {
			get(t, tr, request(t, doc))
		}
		if n := o.count(); n != test.requests {
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
	o := numbered("Cache-Control", "max-age=60")
	tr := &doccache.Transport{Base: o, Dir: t.TempDir()}
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

// broken is a transport that violates the rules of http.RoundTripper.
type broken struct{ resp *http.Response }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return b.resp, nil }

// TestBrokenBase: a Base that returns no response or no body does not cause a panic.
func TestBrokenBase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	get(t, &doccache.Transport{Base: always(headers("Etag", `"a"`), `{}`), Dir: dir}, request(t, doc))
	if resp, err := (&doccache.Transport{Base: broken{}, Dir: dir}).RoundTrip(request(t, doc)); resp != nil || err != nil {
		t.Errorf("RoundTrip returned %v, %v; want nil, nil like Base", resp, err)
	}
	for _, status := range []int{503, 304, 204, 200} {
		tr := &doccache.Transport{Base: broken{&http.Response{StatusCode: status}}, Dir: dir, StaleIfError: time.Hour}
		resp := must.Get(tr.RoundTrip(request(t, doc)))(t)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	checkFiles(t, dir)
}
