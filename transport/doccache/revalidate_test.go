package doccache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/webtest"
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
		o := webtest.Serve(
			answer(http.StatusOK, headers("Etag", `"a"`, "Cache-Control", "max-age=1", "Age", "9", "Date", date(0)), `{}`),
			answer(http.StatusNotModified, headers("Content-Type", "text/html", "Etag", `W/"a"`, "Cache-Control", "max-age=60", "Set-Cookie", "a=b"), ""),
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
		o := webtest.Serve(answer(http.StatusOK, headers("Etag", `"a"`), `{}`), answer(status, headers(), `{"errors":[]}`))
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
	for name, later := range map[string]webtest.Handler{
		"200":                    answer(http.StatusOK, headers("Cache-Control", "no-store"), `{}`),
		"304":                    answer(http.StatusNotModified, headers("Cache-Control", "no-store"), ""),
		"304, too large to keep": answer(http.StatusNotModified, headers("Cache-Control", "no-store", "Expires", strings.Repeat("x", doccache.MaxHead)), ""),
	} {
		dir := t.TempDir()
		tr := &doccache.Transport{Base: webtest.Serve(answer(http.StatusOK, headers("Etag", `"a"`), `{}`), later), Dir: dir}
		want(t, tr, doc, `{}`, 1)
		want(t, tr, doc, `{}`, 2)
		if list := entries(t, dir); len(list) > 0 {
			t.Errorf("status %s with no-store: %v is still cached", name, list)
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
		o := webtest.Serve(answer(http.StatusOK, headers("Etag", `"a"`, "Cache-Control", "max-age=60"), `{}`),
			edited(answer(http.StatusOK, test.header, test.body), test.set))
		dir := t.TempDir()
		want(t, &doccache.Transport{Base: o, Dir: dir}, doc, `{}`, 1)
		want(t, &doccache.Transport{Base: o, Dir: dir, Refresh: true, MaxBytes: test.max}, doc, test.body, 2)
		resp, err := (&doccache.Transport{Base: o, Dir: dir, Offline: true}).RoundTrip(request(t, doc))
		if gone := errors.Is(err, failure.ErrOffline); gone != test.gone || !gone && resp.Header.Get("Etag") != `"a"` {
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
			down := webtest.Fails(errDown)
			if test.status != 0 {
				down = answer(test.status, headers(), `{"errors":[]}`)
			}
			o := webtest.Serve(answer(http.StatusOK, headers("Cache-Control", test.control, "Etag", `"a"`), `{}`), down)
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
			if body != `{}` || resp.Header.Get("Cache-Status") != "tofureg; hit; detail=stale" || count(o) != 2 {
				t.Errorf("%q, %v, %d requests", body, resp.Header, count(o))
			}
			if s := tr.Stats(); s.Stale != 1 || s.Hits != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

const second = time.Second

// date returns a date relative to the start of a bubble.
func date(d time.Duration) string {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Format(http.TimeFormat)
}

// TestFreshness makes a request, and two more at two times: at the first the answer is fresh, at the
// second it is not.
func TestFreshness(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := []struct {
		name    string
		header  http.Header
		fresh   time.Duration // longest time, in seconds, after which it is; negative: never
		set     settings
		latency time.Duration
	}{
		{name: "nothing is stated", header: headers(), fresh: -1},
		{name: "max-age", header: headers("Cache-Control", "max-age=60"), fresh: 59 * second},
		{name: "quoted", header: headers("Cache-Control", `private, Max-Age="60"`), fresh: 59 * second},
		{name: "contradiction", header: headers("Cache-Control", "max-age=60, max-age=10"), fresh: 9 * second},
		{name: "for shared caches", header: headers("Cache-Control", "s-maxage=60"), fresh: -1},
		{name: "not a number", header: headers("Cache-Control", "max-age=-60"), fresh: -1},
		{name: "for ever", header: headers("Cache-Control", "max-age=99999999999999999999"), fresh: day - second},
		{name: "immutable", header: headers("Cache-Control", "max-age=60, immutable"), fresh: 59 * second},
		{name: "Expires", header: headers("Expires", date(60*second)), fresh: 59 * second},
		{name: "Expires counts from Date", header: headers("Date", date(-10*second), "Expires", date(60*second)), fresh: 59 * second},
		{name: "Expires is less than max-age", header: headers("Cache-Control", "max-age=60", "Expires", date(10*second)), fresh: 59 * second},
		{name: "Expires makes no sense", header: headers("Expires", "0"), fresh: -1},
		{name: "Age", header: headers("Cache-Control", "max-age=60", "Age", "50"), fresh: 9 * second},
		{name: "an old Date", header: headers("Cache-Control", "max-age=60", "Date", date(-50*second)), fresh: 9 * second},
		{name: "a Date to come", header: headers("Cache-Control", "max-age=60", "Date", date(50*second)), fresh: 59 * second},
		{name: "the way counts", header: headers("Cache-Control", "max-age=60"), fresh: 54 * second, latency: 5 * second},
		{name: "no-cache", header: headers("Cache-Control", "max-age=60, no-cache"), fresh: -1},
		{name: "no-cache of a field", header: headers("Cache-Control", `max-age=60, no-cache="Set-Cookie, X"`), fresh: -1},
		{name: "must-revalidate", header: headers("Cache-Control", "max-age=60, must-revalidate"), fresh: 59 * second},
		{name: "FreshFor", header: headers(), set: settings{FreshFor: 60 * second}, fresh: 59 * second},
		{name: "FreshFor is longer", header: headers("Cache-Control", "max-age=0, private, must-revalidate"), set: settings{FreshFor: 60 * second}, fresh: 59 * second},
		{name: "FreshFor is shorter", header: headers("Cache-Control", "max-age=60"), set: settings{FreshFor: 6 * second}, fresh: 59 * second},
		{name: "FreshFor and no-cache", header: headers("Cache-Control", "no-cache"), set: settings{FreshFor: 60 * second}, fresh: -1},
		{name: "Refresh", header: headers("Cache-Control", "max-age=60"), set: settings{Refresh: true}, fresh: -1},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T, dir string) {
			tr := test.set.transport(webtest.Serve(webtest.After(test.latency, answer(http.StatusOK, test.header, `{}`))), dir)
			want(t, tr, doc, `{}`, 1)
			start := time.Now()
			if test.fresh >= 0 {
				time.Sleep(test.fresh)
				resp := want(t, tr, doc, `{}`, 1)
				if got := resp.Header.Get("Cache-Status"); got != "tofureg; hit" {
					t.Errorf("Cache-Status %q", got)
				}
			}
			time.Sleep(time.Until(start.Add(test.fresh + second)))
			want(t, tr, doc, `{}`, 2)
		})
	}
}

// TestClockPutBack: an answer with a date in the future is revalidated.
func TestClockPutBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := headers("Cache-Control", "max-age=600", "Etag", `"a"`)
	later := &doccache.Transport{Base: always(h, `{}`), Dir: dir, FreshFor: time.Hour, StaleIfError: time.Hour}
	want(t, later, doc, `{}`, 1)
	synctest.Test(t, func(t *testing.T) { // whose clock starts with the year 2000
		tr := &doccache.Transport{Base: always(h, `{}`), Dir: dir, FreshFor: time.Hour, StaleIfError: time.Hour}
		want(t, tr, doc, `{}`, 1)
		if s := tr.Stats(); s.Revalidated != 1 || s.Hits != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestOffline: cached documents of any age are used. Other requests fail with ErrOffline. No request
// is made.
func TestOffline(t *testing.T) {
	t.Parallel()
	for _, control := range []string{"", "max-age=60", "no-cache", "max-age=0, must-revalidate"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			o := always(headers("Cache-Control", control, "Age", "7"), `{}`)
			want(t, &doccache.Transport{Base: o, Dir: dir}, doc, `{}`, 1)
			time.Sleep(1000 * time.Hour)
			tr := &doccache.Transport{Base: o, Dir: dir, Offline: true, Refresh: true}
			resp := want(t, tr, doc, `{}`, 1)
			if resp.Header.Get("Cache-Status") != "tofureg; hit; detail=stale" || resp.Header.Get("Age") != "3600007" {
				t.Errorf("headers %v", resp.Header)
			}
			for method, url := range map[string]string{
				"GET":  "https://user:s3cr3t@registry.example.com/other?page=s3cr3t",
				"POST": doc,
				"HEAD": "https://files.example.com/a.zip?sig=s3cr3t",
			} {
				req := request(t, url)
				closed := &closer{}
				req.Method, req.Body = method, closed
				resp, err := tr.RoundTrip(req)
				if !errors.Is(err, failure.ErrOffline) || resp != nil || !closed.closed || err.Error() != "offline, and the document is not cached" {
					t.Fatalf("%s %s: %v, %v; want ErrOffline", method, url, resp, err)
				}
			}
			if count(o) != 1 {
				t.Errorf("%d requests", count(o))
			}
		})
	}
	// Without a directory there is nothing.
	if _, err := (&doccache.Transport{Offline: true}).RoundTrip(request(t, doc)); !errors.Is(err, failure.ErrOffline) {
		t.Errorf("without a directory: %v", err)
	}
}

type closer struct {
	strings.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

// TestContext: after cancellation RoundTrip fails. After a timeout it returns the cached document.
func TestContext(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		cause error         // of the cancellation
		late  time.Duration // before the cancellation, after the deadline
		stale bool
	}{
		{"cancelled", nil, 0, false},
		{"for a reason", errors.New("left"), 0, false},
		{"too slow", fmt.Errorf("no answer within 10s: %w", os.ErrDeadlineExceeded), 0, true},
		{"deadline", nil, 2 * second, true},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), second)
			defer stop()
			ctx, cancel := context.WithCancelCause(ctx)
			o := webtest.Serve(answer(http.StatusOK, headers(), `{}`), func(_ int, req *http.Request) (*http.Response, error) {
				time.Sleep(test.late)
				cancel(test.cause)
				return nil, req.Context().Err()
			})
			tr := &doccache.Transport{Base: o, Dir: dir, StaleIfError: time.Hour}
			want(t, tr, doc, `{}`, 1)
			resp, err := tr.RoundTrip(request(t, doc).WithContext(ctx))
			switch {
			case test.stale && err != nil:
				t.Errorf("%s: error %v, want the cached document", test.name, err)
			case !test.stale && !errors.Is(err, context.Canceled):
				t.Errorf("%s: got %v, %v; want context.Canceled", test.name, resp, err)
			}
			if _, err := tr.RoundTrip(request(t, doc).WithContext(ctx)); err != context.Cause(ctx) {
				t.Errorf("%s: error %v after the end of the context", test.name, err)
			}
		})
	}
}
