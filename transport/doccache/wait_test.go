package doccache_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

// TestWait: concurrent requests for a document make one request, unless the answer must not be cached
// or the wait is too long.
func TestWait(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		header   http.Header
		latency  time.Duration
		requests int
	}{
		{"fresh", headers("Cache-Control", "max-age=60"), 4 * second, 1},
		{"nothing stated", headers(), 4 * second, 1},
		{"no-cache", headers("Cache-Control", "no-cache"), 4 * second, 4},
		{"no-store", headers("Cache-Control", "no-store"), second, 4},
		{"archive", headers("Content-Type", "application/zip"), second, 4},
		{"not so long", headers("Cache-Control", "max-age=60"), 6 * second, 4},
	} {
		bubble(t, test.name, func(t *testing.T, dir string) {
			o := &origin{answer: func(n int, _ *http.Request) (*http.Response, error) {
				time.Sleep(test.latency)
				return reply(http.StatusOK, test.header.Clone(), `{}`), nil
			}}
			var wg sync.WaitGroup
			for i := range 4 {
				time.Sleep(time.Duration(i) * second / 10)
				wg.Go(func() {
					tr := &doccache.Transport{Base: o, Dir: dir}
					if _, body := get(t, tr, request(t, doc)); body != `{}` {
						t.Errorf("%q", body)
					}
				})
			}
			wg.Wait()
			if n := o.count(); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
			checkFiles(t, dir)
		})
	}
}

// TestStuckAnswer: an incomplete answer delays other requests for the same document for a limited
// time, and requests for other documents not at all.
func TestStuckAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		o := &origin{answer: func(n int, _ *http.Request) (*http.Response, error) {
			resp := reply(http.StatusOK, headers("Cache-Control", "max-age=60"), fmt.Sprintf(`{"n":%d}`, n))
			if n == 1 {
				resp.Body = pr
			}
			return resp, nil
		}}
		tr := &doccache.Transport{Base: o, Dir: dir}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, body := get(t, tr, request(t, doc)); body != `{"n":1}` {
				t.Errorf("%q", body)
			}
		})
		synctest.Wait()
		begin := time.Now()
		want(t, tr, doc+"?page=2", `{"n":2}`, 2)
		if d := time.Since(begin); d != 0 {
			t.Errorf("another document took %v", d)
		}
		want(t, tr, doc, `{"n":3}`, 3)
		if d := time.Since(begin); d != 5*second {
			t.Errorf("the same document took %v, want 5s", d)
		}
		_, _ = io.WriteString(pw, `{"n":1}`)
		pw.Close()
		wg.Wait()
		checkFiles(t, dir)
	})
}

// TestInterruptedBody: the caller gets the received bytes and the error.
func TestInterruptedBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := &origin{answer: func(int, *http.Request) (*http.Response, error) {
		resp := reply(http.StatusOK, headers(), "")
		resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`{"a`), iotest.ErrReader(errDown))), 9
		return resp, nil
	}}
	resp := must.Get((&doccache.Transport{Base: o, Dir: dir}).RoundTrip(request(t, doc)))(t)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != `{"a` || !errors.Is(err, errDown) {
		t.Errorf("body %q, %v; want the received bytes and %v", body, err, errDown)
	}
	if list := entries(t, dir); len(list) > 0 {
		t.Errorf("%v is cached", list)
	}
}
