package doccache_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/transport/doccache"
)

// TestRevalidation: a document that has not changed is not sent again, and is fresh.
func TestRevalidation(t *testing.T) {
	t.Parallel()
	for name, validator := range map[string][2]string{
		"tag":      {"Etag", `"a"`},
		"weak tag": {"Etag", `W/"a"`},
		"time":     {"Last-Modified", date(-time.Hour)},
	} {
		bubble(t, name, func(t *testing.T, dir string) {
			o := always(headers("Cache-Control", "max-age=60", validator[0], validator[1]), `{"x":1}`)
			tr := &doccache.Transport{Base: o, Dir: dir}
			want(t, tr, doc, `{"x":1}`, 1)
			time.Sleep(60 * second)
			resp := want(t, tr, doc, `{"x":1}`, 2)
			if resp.Status != "200 OK" || resp.ContentLength != 7 || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Cache-Status") != "tofureg; fwd=stale; fwd-status=304" || resp.Header.Get("Age") != "0" {
				t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
			}
			time.Sleep(59 * second)
			want(t, tr, doc, `{"x":1}`, 2)
			if got, want := tr.Stats(), (doccache.Stats{Hits: 1, Revalidated: 1, Misses: 1}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestUpdate: status 304 updates the headers that do not describe the body.
func TestUpdate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := answers(
			answer{http.StatusOK, headers("Etag", `"a"`, "Cache-Control", "max-age=1", "Age", "9", "Date", date(0)), `{}`},
			answer{http.StatusNotModified, headers("Content-Type", "text/html", "Etag", `W/"a"`, "Cache-Control", "max-age=60", "Set-Cookie", "a=b"), ""},
		)
		tr := &doccache.Transport{Base: o, Dir: dir}
		want(t, tr, doc, `{}`, 1)
		time.Sleep(100 * second)
		want(t, tr, doc, `{}`, 2)
		time.Sleep(59 * second)
		resp := want(t, tr, doc, `{}`, 2)
		if h := resp.Header; h.Get("Content-Type") != "application/json" || h.Get("Age") != "59" || h.Get("Set-Cookie") != "" {
			t.Errorf("headers %v", h)
		}
	})
}

// TestSuperseded: a document that the server no longer has is removed.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	for status, gone := range map[int]bool{
		401: true, 408: false, 403: true, 404: true, 410: true, 400: true, 302: true,
		429: false, 500: false, 501: false, 503: false, 520: false,
	} {
		o := answers(answer{http.StatusOK, headers("Etag", `"a"`), `{}`}, answer{status, headers(), `{"errors":[]}`})
		dir := t.TempDir()
		tr := &doccache.Transport{Base: o, Dir: dir}
		want(t, tr, doc, `{}`, 1)
		want(t, tr, doc, `{"errors":[]}`, 2)
		if n := len(entries(t, dir)); n != map[bool]int{true: 0, false: 1}[gone] {
			t.Errorf("after status %d there are %d entries", status, n)
		}
	}
}

// TestNoStoreLater: a later no-store removes the document.
func TestNoStoreLater(t *testing.T) {
	t.Parallel()
	for _, later := range []answer{
		{http.StatusOK, headers("Cache-Control", "no-store"), `{}`},
		{http.StatusNotModified, headers("Cache-Control", "no-store"), ""},
		{http.StatusNotModified, headers("Cache-Control", "no-store", "Expires", strings.Repeat("x", doccache.MaxHead)), ""}, // too large to keep
	} {
		o := answers(answer{http.StatusOK, headers("Etag", `"a"`), `{}`}, later)
		dir := t.TempDir()
		tr := &doccache.Transport{Base: o, Dir: dir}
		want(t, tr, doc, `{}`, 1)
		want(t, tr, doc, `{}`, 2)
		if list := entries(t, dir); len(list) > 0 {
			t.Errorf("status %d with no-store: %v is still cached", later.status, list)
		}
	}
}

// TestReplaced: a new document that must not be cached removes the old one. An incomplete answer does
// not.
func TestReplaced(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	unstated := func(r *http.Response) { r.ContentLength, r.TransferEncoding = -1, []string{"chunked"} }
	text := headers("Content-Type", "text/plain")
	for _, test := range []struct {
		name   string
		max    int64
		header http.Header
		body   string
		set    func(*http.Response)
		gone   bool
	}{
		{name: "contains a signed URL", header: headers(), body: `{"download_url":"https://s3.example.com/x?X-Amz-Signature=1"}`, gone: true},
		{name: "too large", header: text, body: strings.Repeat("x", doccache.MaxDocument+1), gone: true},
		{name: "too large, of unknown length", header: text, body: strings.Repeat("x", doccache.MaxDocument+1), set: unstated, gone: true},
		{name: "larger than the cache", max: most, header: text, body: strings.Repeat("x", most), set: unstated, gone: true},
		{name: "larger than the cache with its headers", max: most, header: text, body: strings.Repeat("x", most-1), gone: true},
		{name: "no JSON", header: headers(), body: `{"download_url":`, gone: true},
		{name: "a login page", header: headers("Content-Type", "text/html"), body: `<a href="https://login.example.com">Sign in</a>`, gone: true},
		{name: "cut off", header: text, body: "?token=", set: func(r *http.Response) { r.ContentLength = 8 }},
	} {
		o := &origin{answer: func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return reply(http.StatusOK, headers("Etag", `"a"`, "Cache-Control", "max-age=60"), `{}`), nil
			}
			resp := reply(http.StatusOK, test.header.Clone(), test.body)
			if test.set != nil {
				test.set(resp)
			}
			return resp, nil
		}}
		dir := t.TempDir()
		want(t, &doccache.Transport{Base: o, Dir: dir}, doc, `{}`, 1)
		want(t, &doccache.Transport{Base: o, Dir: dir, Refresh: true, MaxBytes: test.max}, doc, test.body, 2)
		resp, err := (&doccache.Transport{Base: o, Dir: dir, Offline: true}).RoundTrip(request(t, doc))
		if gone := errors.Is(err, doccache.ErrOffline); gone != test.gone || !gone && resp.Header.Get("Etag") != `"a"` {
			t.Errorf("%s: old document removed: %v, want %v; %v", test.name, gone, test.gone, err)
		}
		checkFiles(t, dir)
	}
}

var errDown = errors.New("connection refused")

// TestStaleIfError: an expired document is used for a time if the server does not answer.
func TestStaleIfError(t *testing.T) {
	t.Parallel()
	type test struct {
		name, control string
		set           settings
		status        int // 0: an error
		after         time.Duration
		stale         bool
	}
	tests := []test{
		{name: "not allowed", control: "max-age=60", after: 61 * second},
		{name: "by the caller", control: "max-age=60", set: settings{StaleIfError: 30 * second}, after: 89 * second, stale: true},
		{name: "by the caller, too late", control: "max-age=60", set: settings{StaleIfError: 30 * second}, after: 90 * second},
		{name: "by the server", control: "max-age=60, stale-if-error=30", after: 89 * second, stale: true},
		{name: "by the server, too late", control: "max-age=60, stale-if-error=30", after: 90 * second},
		{name: "the longer one", control: "max-age=60, stale-if-error=30", set: settings{StaleIfError: second}, after: 89 * second, stale: true},
		{name: "after FreshFor", control: "max-age=0", set: settings{StaleIfError: 30 * second, FreshFor: 60 * second}, after: 89 * second, stale: true},
		{name: "after FreshFor, too late", control: "max-age=0", set: settings{StaleIfError: 30 * second, FreshFor: 60 * second}, after: 90 * second},
		{name: "must-revalidate", control: "max-age=60, must-revalidate", set: settings{StaleIfError: time.Hour}, after: 61 * second},
		{name: "no-cache", control: "no-cache", set: settings{StaleIfError: time.Hour}, after: 61 * second},
		{name: "Refresh", control: "max-age=60", set: settings{StaleIfError: time.Hour, Refresh: true}, after: second, stale: true},
	}
	for _, status := range []int{408, 429, 500, 501, 502, 503, 504, 520} {
		tests = append(tests, test{name: strconv.Itoa(status), control: "max-age=60", set: settings{StaleIfError: time.Hour}, status: status, after: 61 * second, stale: true})
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T, dir string) {
			o := &origin{answer: func(n int, _ *http.Request) (*http.Response, error) {
				switch {
				case n == 1:
					return reply(http.StatusOK, headers("Cache-Control", test.control, "Etag", `"a"`), `{}`), nil
				case test.status != 0:
					return reply(test.status, headers(), `{"errors":[]}`), nil
				}
				return nil, errDown
			}}
			tr := test.set.transport(o, dir)
			want(t, tr, doc, `{}`, 1)
			time.Sleep(test.after)
			req := request(t, doc)
			if !test.stale {
				if resp, err := tr.RoundTrip(req); err != errDown {
					t.Fatalf("RoundTrip returned %v, %v; want the error of Base unchanged", resp, err)
				}
				return
			}
			resp, body := get(t, tr, req)
			if body != `{}` || resp.Header.Get("Cache-Status") != "tofureg; hit; detail=stale" || o.count() != 2 {
				t.Errorf("%q, %v, %d requests", body, resp.Header, o.count())
			}
			if s := tr.Stats(); s.Stale != 1 || s.Hits != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}
